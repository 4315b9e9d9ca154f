import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { AttemptObserver } from '../../coordinator/call-runner.ts';
import { withExpression } from '../../coordinator/compute.ts';
import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import { pick, type Results } from '../../coordinator/references.ts';
import { VolleyError } from '../../core/errors.ts';
import { show } from '../../core/numbers.ts';
import { countText } from '../../core/words.ts';
import type { TaskContext } from '../../engine/task.ts';
import { type Expression, evaluate, type Names } from '../../script/evaluate.ts';
import { expressionText } from '../../script/expression-text.ts';
import {
  type AddedTasks,
  addedRecord,
  type ItemOptions,
  itemId,
  type NewTask,
  type RepeatOptions,
  type TaskOptions,
  type TaskRecord,
} from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import { globFiles } from '../../tools/builtin/glob-files.ts';
import type { ForEach } from '../input/fields.ts';
import { ITEM_NAMES, listSource, ROUND_NAMES } from '../input/task-references.ts';
import { type ItemNames, type Resolved, Template } from './item-params.ts';
import { JsonResult, MAX_RESULT_CHARACTERS, type WrittenEnd } from './task-run.ts';

/** What a group needs of the run of its batch. */
export interface GroupHost {
  readonly batch: string;
  readonly store: Store;
  readonly coordinator: ParallelToolCoordinator;
  /** The results of tasks that have ended. */
  resultsOf(ids: ReadonlySet<string>): Promise<Results>;
  /** Submits open items. Each is reported by {@link GroupRun.itemOver} once. */
  submitItems(items: readonly TaskRecord[], group: GroupRun): Promise<void>;
  itemsAdded(added: AddedTasks): void;
  /** Cancels all items that have not ended, and waits for them. */
  cancelItems(group: GroupRun, reason: string): Promise<void>;
  /** Leaves the group to a later run. */
  leave(group: GroupRun): void;
}

export const MAX_ITEMS = 100_000;
/** How many items are submitted, or read, at once. */
const PAGE = 500;
/** How many items of a group are in memory at once. */
const MAX_SUBMITTED = 10_000;
const MAX_PARAMS_BYTES = 10 * 2 ** 20;
const MAX_ITEMS_BYTES = 256 * 2 ** 20;

/**
 * Runs a group: stores its items when they are known, submits them, and collects their results. Its attempt holds no
 * room while it waits. The items survive the process, so that a later run continues with the same ones.
 */
export class GroupRun {
  /** Items that were cancelled before they were submitted, by id. */
  readonly withdrawn = new Set<string>();
  /** How many items were ended without being submitted, because the group ended. */
  neverRun = 0;
  /** Resolves when the attempt adds and submits nothing more. */
  finished: Promise<void> = Promise.resolve();
  /** Called for each item that completes, while its result is being stored. */
  onResult: ((id: string, text: string | undefined, stored: Promise<void>) => void) | undefined;
  /** Called for each item that ended without a result. */
  onFailure: ((id: string) => void) | undefined;
  private submitted = 0;
  private over = 0;
  /** The items that ended in earlier runs, and all of them. */
  private overBefore = 0;
  private total = 0;
  private isLeaving = false;
  private isStopped = false;
  private wakeUp: (() => void)[] = [];
  private observer: AttemptObserver | undefined;

  constructor(
    private readonly host: GroupHost,
    readonly seq: number,
    readonly id: string,
    private readonly options: Pick<TaskOptions, 'maxConcurrent' | 'onItemError'>,
  ) {}

  /** Whether a failed item does not fail the group. */
  get allowsFailures(): boolean {
    return this.options.onItemError === 'null';
  }

  get maxConcurrent(): number {
    return this.options.maxConcurrent ?? Number.POSITIVE_INFINITY;
  }

  /** Whether no more items may be submitted. */
  get isClosed(): boolean {
    return this.isStopped || this.isLeaving;
  }

  /** Runs the attempt. */
  async run(task: TaskContext, observer?: AttemptObserver): Promise<JsonResult> {
    let finish = () => {};
    this.finished = new Promise((resolve) => {
      finish = resolve;
    });
    this.observer = observer;
    task.onStop(() => this.stop());
    try {
      const record = await this.record();
      const { forEach, repeat, program } = record.options;
      if (program !== undefined) return await this.runProgram(record, task);
      if (repeat !== undefined) await this.runRounds(record, repeat, task);
      else await this.runEach(record, forEach as ForEach, task);
      if (this.isClosed) throw this.left();
      return await this.result();
    } finally {
      finish();
    }
  }

  /** Submits no more items, and leaves the group to a later run when the submitted ones have ended. */
  leave(): void {
    this.isLeaving = true;
    this.wake();
  }

  /** Ends the attempt, whatever the items do. */
  stop(): void {
    this.isStopped = true;
    this.wake();
  }

  /** Some items were submitted. */
  itemsSubmitted(count: number): void {
    this.submitted += count;
  }

  itemOver(id: string, end: WrittenEnd): void {
    this.over++;
    if (end !== undefined && end !== 'opened' && end !== 'completed') this.onFailure?.(id);
    this.report();
    this.wake();
  }

  /** Resolves when every submitted item has ended. */
  async itemsOver(): Promise<void> {
    while (this.over < this.submitted) await this.change();
  }

  private async record(): Promise<TaskRecord> {
    const { store, batch } = this.host;
    const record = await store.task(batch, this.id);
    if (record === undefined)
      throw new VolleyError('UNKNOWN_TASK', `Task ${this.id} was cleared while it was waiting.`);
    return record;
  }

  private async runProgram(record: TaskRecord, task: TaskContext): Promise<JsonResult> {
    const { ProgramRun } = await import('./program-run.ts');
    const { code, args } = JSON.parse(record.params) as { code: string; args?: unknown };
    const resolved = await this.resolved(record, args);
    const program = new ProgramRun(this.host, this, record, this.observer);
    const result = await task.lendWhile(program.run({ code, args: resolved }));
    if (result === undefined) throw this.left();
    return result;
  }

  /** Stores calls of a program, and submits them if they are still wanted. */
  async addCalls(calls: readonly NewTask[], isWanted: boolean): Promise<void> {
    const { store, batch } = this.host;
    const added = await store.addItems(batch, this.seq, calls);
    this.host.itemsAdded(added);
    const { firstSeq, addedAt } = added;
    for (let from = 0; isWanted && from < calls.length && !this.isClosed; from += PAGE) {
      const page = calls.slice(from, from + PAGE);
      const records = page.map((call, index) => addedRecord(call, batch, firstSeq + from + index, addedAt));
      await this.host.submitItems(records, this);
    }
  }

  /** Submits all open items. */
  async submitOpen(): Promise<void> {
    const { store, batch } = this.host;
    for (let afterSeq = 0; !this.isClosed; ) {
      const page = await store.items(batch, this.seq, { status: ['open'], afterSeq, limit: PAGE });
      if (page.length > 0) await this.host.submitItems(page, this);
      if (page.length < PAGE) return;
      afterSeq = page.at(-1)!.seq;
    }
  }

  private async runEach(record: TaskRecord, forEach: ForEach, task: TaskContext): Promise<void> {
    this.total = await this.countItems();
    if (this.total === 0) {
      const list = await this.listOf(record, forEach, task.signal);
      this.total = list.length;
      if (list.length === 0 || this.isClosed) return;
      await this.addItems(
        record,
        ITEM_NAMES,
        0,
        list.map((item, index) => ({ item, index })),
      );
    }
    this.report();
    await task.lendWhile(this.runOpen());
  }

  private async runRounds(record: TaskRecord, repeat: RepeatOptions, task: TaskContext): Promise<void> {
    const { until, max, delayMs } = repeat;
    for (let count = await this.countItems(); !this.isClosed; ) {
      const last = count === 0 ? undefined : await this.round(count - 1, task);
      if (this.isClosed) return;
      if (count > 0) {
        const names = { result: last, last, index: `${count - 1}` };
        if (
          until !== undefined &&
          (await holds({ source: until, results: await this.mentioned(record) }, names))
        )
          return;
        if (count === max) {
          if (until === undefined) return;
          throw new VolleyError(
            'REPEAT_LIMIT',
            `It ran ${countText(max, 'time')}, and "until" is still false: ${until}`,
          );
        }
        if (delayMs !== undefined) await task.lendWhile(this.pause(delayMs));
        if (this.isClosed) return;
      }
      this.observer?.reported(undefined, `round ${count + 1}`);
      await this.addItems(record, ROUND_NAMES, count, [
        { last: last === undefined ? undefined : JSON.parse(last), index: count },
      ]);
      count++;
    }
  }

  /** Runs a round, if it is open, and returns its result as JSON. */
  private async round(index: number, task: TaskContext): Promise<string> {
    const { store, batch } = this.host;
    const id = itemId(this.id, index);
    await task.lendWhile(this.runOpen());
    if (this.isClosed) return 'null';
    const result = await store.result(batch, id);
    if (result === undefined && !this.allowsFailures) throw itemFailed(1, index + 1, id);
    return result ?? 'null';
  }

  private async pause(ms: number): Promise<void> {
    const timer = new AbortController();
    const pausing = sleep(ms, undefined, { signal: timer.signal }).catch(() => {});
    const closing = (async () => {
      while (!this.isClosed && !timer.signal.aborted) await this.change();
    })();
    await Promise.race([pausing, closing]);
    timer.abort();
    this.wake();
  }

  private async mentioned({ options }: TaskRecord): Promise<Map<string, string | undefined>> {
    const ids = new Set(options.mentions);
    if (ids.size === 0) return new Map();
    const { json } = await this.host.resultsOf(ids);
    return new Map([...ids].map((id) => [id, json(id)]));
  }

  /** Evaluates the list of items. */
  private async listOf(
    record: TaskRecord,
    forEach: ForEach,
    signal: AbortSignal,
  ): Promise<readonly unknown[]> {
    const list = await this.evaluated(record, forEach, signal);
    if (!Array.isArray(list))
      throw new VolleyError(
        'INVALID_ITEMS',
        `Its "for_each" must produce a list, but it produced ${show(list)}.`,
      );
    if (list.length > MAX_ITEMS)
      throw new VolleyError(
        'INVALID_ITEMS',
        `Its "for_each" produced ${list.length} items; the limit is ${MAX_ITEMS}. Use several tasks.`,
      );
    return list;
  }

  private async evaluated(record: TaskRecord, forEach: ForEach, signal: AbortSignal): Promise<unknown> {
    const ids = new Set(record.options.dependsOn);
    const source = listSource(forEach, ids);
    switch (source.kind) {
      case 'glob': {
        const { files, isCut } = await globFiles(this.host.coordinator.roots, source.glob, MAX_ITEMS, signal);
        if (!isCut) return files;
        throw new VolleyError(
          'INVALID_ITEMS',
          `The glob ${show(source.glob)} matches too many files; the limit is ${MAX_ITEMS}.`,
        );
      }
      case 'expression': {
        const results = await this.mentioned(record);
        const text = await evaluate({ source: source.source, results });
        return text === undefined ? undefined : JSON.parse(text);
      }
      case 'reference': {
        const { value } = await this.host.resultsOf(new Set([source.id]));
        return pick(value(source.id), source.id, source.keys);
      }
      case 'data':
        return this.resolved(record, source.data);
    }
  }

  /** Resolves data with references to the results of other tasks. */
  private async resolved({ options }: TaskRecord, data: unknown): Promise<unknown> {
    const template = await Template.read(data, options, this.host.resultsOf);
    const { value: slice } = await template.resolve([{}]).next();
    const [resolved] = slice as [Resolved<unknown>];
    if ('problem' in resolved) throw resolved.problem;
    return resolved.value;
  }

  /** Stores items, with final params. */
  private async addItems(
    record: TaskRecord,
    names: ReadonlySet<string>,
    firstIndex: number,
    items: readonly ItemNames[],
  ): Promise<void> {
    const { store, batch, coordinator, resultsOf } = this.host;
    const { function: tool, options } = record;
    const { arguments: params } = withExpression({ name: tool, arguments: JSON.parse(record.params) });
    const template = await Template.read(params, options, resultsOf, names);
    const { priority, maxRetries, timeoutMs, resources, on } = options;
    const shared: TaskOptions = {
      ...(priority !== undefined && { priority }),
      ...(maxRetries !== undefined && { maxRetries }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(resources !== undefined && { resources }),
      ...(on !== undefined && { on }),
    };
    const tasks: NewTask[] = [];
    let bytes = 0;
    for await (const slice of template.resolve(items)) {
      for (const resolved of slice) {
        const index = firstIndex + tasks.length;
        const { params, problem } = paramsOf(resolved, coordinator);
        bytes += params?.length ?? 0;
        tasks.push({
          id: itemId(this.id, index),
          name: itemId(record.name, index),
          function: tool,
          params: params ?? record.params,
          options: {
            ...shared,
            item: { group: this.id, index, ...(problem !== undefined && { problem }) },
          },
        });
      }
      if (bytes > MAX_ITEMS_BYTES)
        throw new VolleyError(
          'INVALID_ITEMS',
          `The params of its items exceed ${MAX_ITEMS_BYTES >> 20} MB in total. Pass paths instead of contents.`,
        );
      if (this.isClosed) return;
    }
    this.host.itemsAdded(await store.addItems(batch, this.seq, tasks));
  }

  /** Submits all open items and waits for them. */
  private async runOpen(): Promise<void> {
    const { store, batch } = this.host;
    for (let afterSeq = 0; !this.isClosed; ) {
      const free = Math.min(this.maxConcurrent, MAX_SUBMITTED) - (this.submitted - this.over);
      if (free <= 0) {
        await this.change();
        continue;
      }
      const limit = Math.min(PAGE, free);
      const page = await store.items(batch, this.seq, { status: ['open'], afterSeq, limit });
      if (page.length === 0) break;
      afterSeq = page.at(-1)!.seq;
      if (!this.isClosed) await this.host.submitItems(page, this);
      if (page.length === PAGE) await nextTurn();
    }
    while (!this.isStopped && this.over < this.submitted) await this.change();
  }

  /** Counts the stored items, and those that ended in earlier runs. */
  private async countItems(): Promise<number> {
    const { store, batch } = this.host;
    let count = 0;
    for (let afterSeq = 0; ; ) {
      const page = await store.itemResults(batch, this.seq, { afterSeq, limit: PAGE, maxBytes: 0 });
      count += page.length;
      for (const { status } of page) if (status !== 'open') this.overBefore++;
      if (page.length < PAGE) return count;
      afterSeq = page.at(-1)!.seq;
      await nextTurn();
    }
  }

  /** The list of the results of all items. Throws if one of them has none. */
  private async result(): Promise<JsonResult> {
    const { store, batch } = this.host;
    const texts: string[] = [];
    let length = 0;
    let count = 0;
    const failed: number[] = [];
    for (let afterSeq = 0; ; await nextTurn()) {
      const maxBytes = MAX_RESULT_CHARACTERS - length;
      const page = await store.itemResults(batch, this.seq, { afterSeq, limit: PAGE, maxBytes });
      for (const { status, result } of page) {
        if (status !== 'completed') failed.push(count);
        count++;
        const text = status === 'completed' ? result : 'null';
        length = text === undefined ? Number.POSITIVE_INFINITY : length + text.length + 1;
        if (length <= MAX_RESULT_CHARACTERS) texts.push(text!);
      }
      afterSeq = page.at(-1)?.seq ?? afterSeq;
      if (page.length < PAGE) break;
    }
    if (failed.length > 0 && !this.allowsFailures)
      throw itemFailed(failed.length, count, itemId(this.id, failed[0]!));
    return new JsonResult(length <= MAX_RESULT_CHARACTERS ? `[${texts.join(',')}]` : undefined);
  }

  private left(): VolleyError {
    if (!this.isStopped) this.host.leave(this);
    return new VolleyError('EXECUTION_CANCELLED', 'The batch was stopped.');
  }

  /** In steps of one percent, so that events are few. */
  private report(): void {
    const { total, observer } = this;
    const over = this.over + this.overBefore;
    if (observer === undefined || total === 0) return;
    const percent = Math.floor((over * 100) / total);
    if (over === 0 || percent > Math.floor(((over - 1) * 100) / total))
      observer.reported(over / total, `${over} of ${total}`);
  }

  /** Resolves with the next event of the group. */
  change(): Promise<void> {
    return new Promise((resolve) => this.wakeUp.push(resolve));
  }

  wake(): void {
    const woken = this.wakeUp;
    if (woken.length === 0) return;
    this.wakeUp = [];
    for (const resolve of woken) resolve();
  }
}

/** Whether the value of an expression counts as true. */
export async function holds({ source, results }: Expression, names?: Names): Promise<boolean> {
  return (await evaluate({ source: `!!(${expressionText(source)}\n)`, results }, names)) === 'true';
}

function itemFailed(failed: number, total: number, first: string): VolleyError {
  return new VolleyError(
    'ITEM_FAILED',
    failed === 1
      ? `The item ${first} did not complete (1 of ${total}).`
      : `${failed} of ${total} items did not complete, the first of them ${first}.`,
    { failed, total, first },
  );
}

/** The final params of an item as JSON, or why there are none. */
function paramsOf(
  resolved: Resolved<unknown>,
  { redactor }: ParallelToolCoordinator,
): { readonly params?: string; readonly problem?: ItemOptions['problem'] } {
  if ('problem' in resolved) {
    const { code, message } = resolved.problem;
    return { problem: { code, message: redactor.text(message) } };
  }
  const params = JSON.stringify(resolved.value ?? {});
  if (params.length <= MAX_PARAMS_BYTES) return { params };
  const message = `The params exceed ${MAX_PARAMS_BYTES >> 20} MB. Pass a path instead of contents.`;
  return { problem: { code: 'INVALID_ARGUMENTS', message } };
}
