import { randomInt } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ParallelToolCoordinator } from '../coordinator/coordinator.ts';
import { knownTo } from '../coordinator/plan.ts';
import { loadParser, ParserMissing } from '../coordinator/references.ts';
import { Block, blockOrder, RowBuilder } from '../core/block.ts';
import { VolleyError } from '../core/errors.ts';
import { LinkedNode } from '../core/graph-node.ts';
import { NearestNames } from '../core/nearest.ts';
import { show } from '../core/numbers.ts';
import { RUN_PROGRAM } from '../core/script-tools.ts';
import { isThenable } from '../core/values.ts';
import { bytesText, countText, listText } from '../core/words.ts';
import { VM_VERSION } from '../script/program-session.ts';
import { checkProgram } from '../script/program-text.ts';
import {
  type AddedTasks,
  isGroup,
  type NewTask,
  NO_OPTIONS,
  type RepeatOptions,
  type TaskOptions,
} from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { BatchContext } from './context.ts';
import { callSettings, DEMAND_WIRE_FIELDS, type TaskInput } from './input/fields.ts';
import { type TaskReferences, taskReferences } from './input/task-references.ts';
import type { BatchEvents } from './run/events.ts';
import { taskCall } from './run/plan-tasks.ts';

const MAX_TRIES = 20;
const MAX_WARNINGS = 5;

/** Validates tasks and adds all of them or none. They are stored when it resolves. */
export async function addBatchTasks(
  context: BatchContext,
  batch: string,
  inputs: readonly TaskInput[],
): Promise<readonly NewTask[]> {
  for (let tries = 1; ; tries++) {
    const { ids, giveBack } = await context.ids.choose(
      batch,
      inputs.map(({ id }) => id),
    );
    try {
      const coordinator = await context.coordinator();
      const tasks = await new TaskCheck(coordinator, context.store, batch, ids).tasksOf(inputs);
      publishAdded(context.runs.events, batch, await context.store.addTasks(batch, tasks));
      return tasks;
    } catch (error) {
      giveBack();
      const taken = takenId(error, ids, inputs);
      if (taken === undefined || tries === MAX_TRIES) throw error;
      await context.ids.skip(batch, taken);
    }
  }
}

/** Returns warnings about the first few added tasks, as text and as a field of the answer. */
export function warningsOf(tasks: readonly NewTask[]): { text: string[]; data: { warnings?: object[] } } {
  const warned = tasks.filter(({ options }) => options.warnings !== undefined);
  if (warned.length === 0) return { text: [], data: {} };
  const warnings = warned
    .slice(0, MAX_WARNINGS)
    .flatMap(({ id, options }) => (options.warnings ?? []).map((message) => ({ id, message })));
  const more = warned.length - MAX_WARNINGS;
  const text = warnings.map(({ id, message }) => `Warning: task ${id}: ${message}`);
  if (more > 0) text.push(`… and ${countText(more, 'task')} more with warnings.`);
  return { text, data: { warnings } };
}

function publishAdded(events: BatchEvents, batch: string, { firstSeq, lastSeq, addedAt }: AddedTasks): void {
  if (events.hasListeners)
    events.publish({ type: 'added', batch, fromSeq: firstSeq, toSeq: lastSeq, at: addedAt });
}

/** Returns the generated id that is already in use, if that caused the error. */
function takenId(error: unknown, ids: readonly string[], inputs: readonly TaskInput[]): string | undefined {
  if (!(error instanceof VolleyError) || error.code !== 'DUPLICATE_ID') return undefined;
  const { id } = error.details;
  return ids.find((chosen, index) => chosen === id && inputs[index]!.id === undefined);
}

const MAX_PARAMS_BYTES = 10 * 2 ** 20;
const MAX_BYTES = 256 * 2 ** 20;
const MAX_SHOWN = 5;
/** How many problems the details of the error list. */
const MAX_REPORTED = 100;
const PER_TURN = 200;
const PER_READ = 1000;
/** How long to wait for tool servers to list their tools. After that their tasks are added unchecked. */
const MAX_DISCOVERY_MS = 2000;
/** How many stored ids are compared with a mistyped one. */
const MAX_SUGGESTED = 1000;
const NONE: readonly string[] = [];
const ITEM_ID = /\[\d+\]$/;

/** Checks new tasks of a batch: their tools, arguments, needs and dependencies. */
export class TaskCheck {
  /** Kept alive like the lanes of the engine: see lanes.ts. */
  static readonly kept = new TaskCheck(undefined as never, undefined as never, '', []);
  /** Created on demand: most tasks depend on nothing. */
  private own: ReadonlySet<string> | undefined;
  private readonly stored = new Map<string, boolean>();
  /** Requested, but not read from the store yet. */
  private unread = new Set<string>();
  /** The last stored ids, for suggestions. */
  private lastIds: readonly string[] | undefined;
  private readonly known = { has: (id: string) => this.isKnown(id) };
  private readonly names = new NearestNames(() => this.someIds());
  private bytes = 0;

  constructor(
    private readonly coordinator: ParallelToolCoordinator,
    private readonly store: Store,
    private readonly batch: string,
    private readonly ids: readonly string[],
    /** Ids of further tasks that are added with these, if there are too many for one list. */
    private readonly others?: Pick<ReadonlySet<string>, 'has'>,
  ) {}

  /** Validates all tasks and returns them as they will be stored. */
  async tasksOf(inputs: readonly TaskInput[]): Promise<NewTask[]> {
    const tasks: NewTask[] = [];
    const problems: { readonly place: string; readonly error: VolleyError }[] = [];
    this.checkUnique(inputs);
    const tools = new Set(inputs.map((input) => input.function));
    await this.coordinator.planner.discover(tools, MAX_DISCOVERY_MS);
    for (const { depends_on = NONE } of inputs) {
      for (const id of depends_on) this.isKnown(id);
      if (this.unread.size < PER_READ) continue;
      await this.readUnread();
      await nextTurn();
    }
    await this.readUnread();
    for (const [index, input] of inputs.entries()) {
      if (index % PER_TURN === PER_TURN - 1) await nextTurn();
      try {
        const checking = this.checkOne(this.ids[index]!, input);
        tasks.push(isThenable(checking) ? await checking : checking);
      } catch (error) {
        if (!(error instanceof VolleyError)) throw error;
        problems.push({ place: placeOf(index, input), error });
        // The schema check timed out, and each other task might take as long.
        if (error.code === 'EXECUTION_TIMEOUT') break;
      }
    }
    if (problems.length > 0) throw problemOf(problems, inputs.length);
    checkOrder(tasks);
    return tasks;
  }

  /** Throws if two given ids are the same. Generated ids are unique. */
  private checkUnique(inputs: readonly TaskInput[]): void {
    const seen = new Set<string>();
    const twice = inputs.find(({ id }) => id !== undefined && seen.size === seen.add(id).size)?.id;
    if (twice === undefined) return;
    throw new VolleyError('DUPLICATE_ID', `Two tasks have the id ${show(twice)}. Ids must be unique.`, {
      id: twice,
    });
  }

  private checkOne(id: string, input: TaskInput): NewTask | Promise<NewTask> {
    const { params, depends_on = NONE, resources } = input;
    checkGroupFields(input);
    if (resources !== undefined) this.coordinator.planner.checkResourceNames(resources, DEMAND_WIRE_FIELDS);
    for (const dependency of depends_on) this.requireKnown(dependency);
    let found: TaskReferences | undefined;
    try {
      found = taskReferences(
        input,
        knownTo(id, this.known, this.names),
        this.others === undefined ? this.ids : 'many',
      );
    } catch (error) {
      if (error instanceof ParserMissing) return loadParser().then(() => this.checkOne(id, input));
      if (this.unread.size === 0) throw error;
    }
    // It refers to tasks that may be in the store: check again after reading them.
    if (this.unread.size > 0) return this.readUnread().then(() => this.checkOne(id, input));
    if (input.for_each !== undefined) this.textOf(input.for_each);
    const references = found!;
    const { warnings } = references.params;
    const hasDependencies = depends_on.length + references.ids.size > 0;
    const dependsOn = hasDependencies ? [...new Set([...depends_on, ...references.ids])] : NONE;
    if (input.function === RUN_PROGRAM && typeof params['code'] === 'string') checkProgram(params['code']);
    const task: NewTask = {
      id,
      name: input.name ?? input.id ?? input.function,
      function: input.function,
      params: this.textOf(params),
      options: optionsOf(
        input,
        dependsOn,
        references.mentions,
        warnings.map((warning) => this.coordinator.redactor.text(warning)),
      ),
    };
    const { planner } = this.coordinator;
    const call = taskCall(task, params);
    if (isGroup(task.options)) {
      planner.checkGroup(call);
      if (references.params.usesNames) return task;
    }
    const checking = planner.check(call, references.params);
    return isThenable(checking) ? checking.then(() => task) : task;
  }

  private textOf(params: unknown): string {
    let text: string;
    try {
      text = JSON.stringify(params);
    } catch (error) {
      throw new VolleyError(
        'INVALID_ARGUMENTS',
        `The params cannot be converted to JSON: ${(error as Error).message}.`,
      );
    }
    const bytes = Buffer.byteLength(text);
    if (bytes > MAX_PARAMS_BYTES) {
      throw tooLarge(`The params have ${bytesText(bytes)}; the limit is ${bytesText(MAX_PARAMS_BYTES)}`);
    }
    this.bytes += bytes;
    if (this.bytes > MAX_BYTES)
      throw tooLarge(`The params of all tasks together exceed ${bytesText(MAX_BYTES)}`);
    return text;
  }

  private requireKnown(dependency: string): void {
    if (this.isKnown(dependency)) return;
    const close = this.names.find(dependency);
    throw new VolleyError(
      'UNKNOWN_DEPENDENCY',
      `It depends on ${show(dependency)}, but no task in the batch has this id.${close === undefined ? '' : ` Did you mean ${show(close)}?`}`,
      { dependency },
    );
  }

  private *someIds(): Generator<string> {
    yield* this.ids;
    yield* this.lastIds ?? NONE;
  }

  private async readUnread(): Promise<void> {
    if (this.unread.size === 0) return;
    const ids = this.unread;
    this.unread = new Set();
    const found = await this.store.tasksById(this.batch, ids);
    for (const id of ids) this.stored.set(id, found.has(id));
    // A missing id may be a typo of one of these.
    if (found.size < ids.size) this.lastIds ??= await this.store.lastIds(this.batch, MAX_SUGGESTED);
  }

  /** An unread id counts as known until it is read, so that one pass collects all ids to read. */
  private isKnown(id: string): boolean {
    this.own ??= new Set(this.ids);
    if (this.own.has(id) || this.others?.has(id) === true) return true;
    // Others depend on the group, and a[0] is the first element of its result.
    if (ITEM_ID.test(id)) return false;
    const isStored = this.stored.get(id);
    if (isStored === undefined) this.unread.add(id);
    return isStored ?? true;
  }
}

function optionsOf(
  input: TaskInput,
  dependsOn: readonly string[],
  mentions: ReadonlySet<string>,
  warnings: readonly string[],
): TaskOptions {
  const { priority, max_retries, timeout, resources, on, on_dependency_failure, when, for_each, repeat } =
    input;
  const hasOwn =
    (priority ?? max_retries ?? timeout ?? resources ?? on ?? on_dependency_failure) !== undefined;
  const program = input.function === RUN_PROGRAM ? { seed: randomInt(2 ** 31), vm: VM_VERSION } : undefined;
  const computes = (when ?? for_each ?? repeat ?? program) !== undefined;
  if (!hasOwn && !computes && dependsOn.length === 0 && warnings.length === 0) return NO_OPTIONS;
  const { max_concurrent, on_item_error } = input;
  return {
    ...callSettings(input),
    ...(on_dependency_failure !== undefined && { onDependencyFailure: on_dependency_failure }),
    ...(dependsOn.length > 0 && { dependsOn }),
    ...(mentions.size > 0 && { mentions: [...mentions] }),
    ...(when !== undefined && { when }),
    ...(for_each !== undefined && { forEach: for_each }),
    ...(repeat !== undefined && { repeat: repeatOptions(repeat) }),
    ...(program !== undefined && { program }),
    ...(max_concurrent !== undefined && { maxConcurrent: max_concurrent }),
    ...(on_item_error === 'null' && { onItemError: on_item_error }),
    ...(warnings.length > 0 && { warnings }),
  };
}

function repeatOptions({ until, max, delay }: NonNullable<TaskInput['repeat']>): RepeatOptions {
  return {
    ...(until !== undefined && { until }),
    max,
    ...(delay !== undefined && { delayMs: delay * 1000 }),
  };
}

/** Throws if fields of groups do not go together. */
function checkGroupFields({
  function: tool,
  for_each,
  repeat,
  max_concurrent,
  on_item_error,
}: TaskInput): void {
  if (tool === RUN_PROGRAM && (for_each ?? repeat) !== undefined)
    throw new VolleyError(
      'INVALID_REQUEST',
      'A program cannot have "for_each" or "repeat". Write a loop in the program instead.',
    );
  if (for_each !== undefined && repeat !== undefined)
    throw new VolleyError('INVALID_REQUEST', 'A task can have "for_each" or "repeat", not both.');
  if (max_concurrent !== undefined && for_each === undefined)
    throw new VolleyError(
      'INVALID_REQUEST',
      'The "max_concurrent" of a task limits its items and needs "for_each". To limit the batch, pass it to "start".',
    );
  if (on_item_error !== undefined && for_each === undefined && repeat === undefined)
    throw new VolleyError('INVALID_REQUEST', '"on_item_error" needs "for_each" or "repeat".');
}

/** Throws if there is a cycle. Stored tasks never depend on new ones, so only new ones are checked. */
function checkOrder(tasks: readonly NewTask[]): void {
  const edges = tasks.reduce((sum, { options }) => sum + (options.dependsOn?.length ?? 0), 0);
  if (edges === 0) return;
  const places = new Map(tasks.map(({ id }, place) => [id, place]));
  const rows = new RowBuilder<LinkedNode>(tasks.length, edges);
  for (const { options } of tasks) {
    for (const id of options.dependsOn ?? []) {
      const place = places.get(id);
      if (place !== undefined) rows.add(place);
    }
    rows.endRow();
  }
  if (!rows.refersForward) return;
  const nodes = tasks.map(({ id }, place) => new LinkedNode(place, id));
  blockOrder(new Block(nodes, rows));
}

function problemOf(
  problems: readonly { readonly place: string; readonly error: VolleyError }[],
  total: number,
): VolleyError {
  const [{ error }] = problems as [(typeof problems)[number]];
  if (total === 1) return error;
  const places = new Map<string, string[]>();
  for (const { place, error: each } of problems) {
    const same = places.get(each.message) ?? [];
    if (same.push(place) === 1) places.set(each.message, same);
  }
  // A few have lines of their own, so that each can be found in a file.
  const texts = [...places].flatMap(([message, same]) => {
    const shown = same.length > MAX_SHOWN ? [listText(same.slice(0, MAX_SHOWN), same.length)] : same;
    return shown.map((place) => `${place}: ${message}`);
  });
  const more = texts.length - MAX_SHOWN;
  return new VolleyError(
    error.code,
    `${problems.length} of ${countText(total, 'task')} cannot be added, so none were added. ${texts.slice(0, MAX_SHOWN).join(' ')}${more > 0 ? ` And ${more} more.` : ''}`,
    { ...error.details, problems: texts.slice(0, MAX_REPORTED) },
  );
}

function tooLarge(message: string): VolleyError {
  return new VolleyError('INVALID_ARGUMENTS', `${message}. Write large data to a file and pass its path.`);
}

/** `task 3 (id "copy")`, so that it can be found in a file. */
function placeOf(index: number, { id, name, function: tool }: TaskInput): string {
  return `task ${index + 1} (${id === undefined ? show(name ?? tool) : `id ${show(id)}`})`;
}

/** The number that a problem of `tasksOf()` begins with, from 1. */
export function taskNumberIn(problem: string): number | undefined {
  const [, number] = /^task (\d+) \(/.exec(problem) ?? [];
  return number === undefined ? undefined : Number(number);
}
