import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CallDesk } from '../coordinator/call-desk.ts';
import { referencesIn } from '../coordinator/references.ts';
import { VolleyError } from '../core/errors.ts';
import { GraphNode } from '../core/graph.ts';
import { nearest } from '../core/nearest.ts';
import { show } from '../core/numbers.ts';
import { topologicalOrder } from '../core/topology.ts';
import { countText } from '../core/words.ts';
import type { NewTask, TaskRecord } from '../store/records.ts';
import type { BatchContext } from './context.ts';
import { callOf, optionsOf, type TaskInput } from './input/task-input.ts';
import { bytesText } from './text.ts';

const MOST_PARAMS_BYTES = 10 * 2 ** 20;
const MOST_BYTES = 256 * 2 ** 20;
const MOST_SHOWN = 5;
const MOST_TRIES = 20;
const PER_TURN = 200;

/** Checks tasks, all of them or none is added, and lets them join the batch if it runs. They are safe when it returns. */
export async function addTasks(
  context: BatchContext,
  batch: string,
  inputs: readonly TaskInput[],
): Promise<TaskRecord[]> {
  for (let tries = 1; ; tries++) {
    const { ids, giveBack } = context.ids.choose(
      batch,
      inputs.map(({ id }) => id),
    );
    try {
      const tasks = await new TaskCheck(context, batch, ids).check(inputs);
      return await context.store.addTasks(batch, tasks);
    } catch (error) {
      giveBack();
      const taken = takenId(error, ids, inputs);
      if (taken === undefined || tries === MOST_TRIES) throw error;
      context.ids.skip(batch, taken);
    }
  }
}

/** The id that was chosen and that another process, or a person, has used before. */
function takenId(error: unknown, ids: readonly string[], inputs: readonly TaskInput[]): string | undefined {
  if (!(error instanceof VolleyError) || error.code !== 'DUPLICATE_ID') return undefined;
  const { id } = error.details;
  return ids.find((chosen, index) => chosen === id && inputs[index]!.id === undefined);
}

/** Looks at new tasks of a batch: their tools, arguments, needs and dependencies. */
class TaskCheck {
  private readonly desk: CallDesk;
  private readonly own: ReadonlySet<string>;
  private readonly stored = new Map<string, boolean>();
  private readonly known: ReadonlySet<string>;
  private bytes = 0;

  constructor(
    private readonly context: BatchContext,
    private readonly batch: string,
    private readonly ids: readonly string[],
  ) {
    this.desk = context.coordinator.desk;
    this.own = new Set(ids);
    this.known = { has: (id: string) => this.isKnown(id) } as ReadonlySet<string>;
  }

  async check(inputs: readonly TaskInput[]): Promise<NewTask[]> {
    const tasks: NewTask[] = [];
    const problems: { readonly place: string; readonly error: VolleyError }[] = [];
    this.checkUnique();
    for (const [index, input] of inputs.entries()) {
      if (index % PER_TURN === PER_TURN - 1) await nextTurn();
      try {
        tasks.push(await this.checkOne(this.ids[index]!, input));
      } catch (error) {
        if (!(error instanceof VolleyError)) throw error;
        problems.push({ place: `task ${index + 1} (${show(input.name ?? input.function)})`, error });
      }
    }
    if (problems.length > 0) throw problemOf(problems, inputs.length);
    checkOrder(tasks);
    return tasks;
  }

  private checkUnique(): void {
    if (this.own.size === this.ids.length) return;
    const seen = new Set<string>();
    const twice = this.ids.find((id) => seen.size === seen.add(id).size);
    throw new VolleyError('DUPLICATE_ID', `Two tasks have the id ${show(twice)}: give each its own.`, {
      id: twice,
    });
  }

  private async checkOne(id: string, input: TaskInput): Promise<NewTask> {
    const { params, depends_on = [] } = input;
    for (const dependency of depends_on) this.requireKnown(dependency);
    const dependsOn = [...new Set([...depends_on, ...referencesIn(params, this.known)])];
    const task: NewTask = {
      id,
      name: input.name ?? input.function,
      function: input.function,
      params: this.textOf(params),
      options: optionsOf(input, dependsOn),
    };
    const [planned] = await this.desk.plan([callOf(task, params)], new Set(dependsOn));
    if (planned!.kind === 'refused') throw planned!.error;
    return task;
  }

  private textOf(params: unknown): string {
    let text: string;
    try {
      text = JSON.stringify(params);
    } catch (error) {
      throw new VolleyError(
        'INVALID_ARGUMENTS',
        `The params cannot be written as JSON: ${(error as Error).message}.`,
      );
    }
    const bytes = Buffer.byteLength(text);
    if (bytes > MOST_PARAMS_BYTES) {
      throw tooLarge(
        `The params have ${bytesText(bytes)}, but at most ${bytesText(MOST_PARAMS_BYTES)} are taken`,
      );
    }
    this.bytes += bytes;
    if (this.bytes > MOST_BYTES)
      throw tooLarge(`The params of all tasks have more than ${bytesText(MOST_BYTES)}`);
    return text;
  }

  private requireKnown(dependency: string): void {
    if (this.isKnown(dependency)) return;
    const close = nearest(dependency, this.own);
    throw new VolleyError(
      'UNKNOWN_DEPENDENCY',
      `It depends on ${show(dependency)}, but no task of the batch has this id${close === undefined ? '' : `; did you mean ${show(close)}?`}.`,
      { dependency },
    );
  }

  private isKnown(id: string): boolean {
    if (this.own.has(id)) return true;
    let isStored = this.stored.get(id);
    if (isStored === undefined) {
      isStored = this.context.store.task(this.batch, id) !== undefined;
      this.stored.set(id, isStored);
    }
    return isStored;
  }
}

/** Throws for a cycle. Older tasks never wait for new ones, so only the new ones are looked at. */
function checkOrder(tasks: readonly NewTask[]): void {
  if (tasks.every(({ options }) => options.dependsOn === undefined)) return;
  const nodes = tasks.map(({ id }, index) => new GraphNode(index, id));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const edges = tasks.map(({ options }) => options.dependsOn?.flatMap((id) => byId.get(id) ?? []));
  topologicalOrder(nodes, edges);
}

function problemOf(
  problems: readonly { readonly place: string; readonly error: VolleyError }[],
  total: number,
): VolleyError {
  const [{ error }] = problems as [(typeof problems)[number]];
  if (total === 1) return error;
  const shown = problems.slice(0, MOST_SHOWN).map(({ place, error: { message } }) => `${place}: ${message}`);
  const more = problems.length - shown.length;
  return new VolleyError(
    error.code,
    `${countText(problems.length, 'task')} of ${total} cannot be added, so none was. ${shown.join(' ')}${more > 0 ? ` And ${more} more.` : ''}`,
    error.details,
  );
}

function tooLarge(message: string): VolleyError {
  return new VolleyError('INVALID_ARGUMENTS', `${message}. Write large data to a file and pass its path.`);
}
