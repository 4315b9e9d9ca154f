import { VolleyError } from '../../core/errors.ts';
import type { FailureReason } from '../../core/failure.ts';
import { countText } from '../../core/words.ts';
import { ToolFailure } from '../../engine/tool-failure.ts';
import {
  type CallEnd,
  type ProgramCall,
  type ProgramOutcome,
  ProgramSession,
  VM_VERSION,
} from '../../script/program-session.ts';
import { isSameCall } from '../../script/replay.ts';
import {
  type Delivery,
  itemId,
  type NewTask,
  type TaskOptions,
  type TaskRecord,
} from '../../store/records.ts';
import { callOptions } from '../input/program-call.ts';
import type { GroupHost, GroupRun } from './group-run.ts';
import { JsonResult } from './task-run.ts';

/** How many calls or deliveries are read at once. */
const PAGE = 500;
const MAX_LOG_LINES = 200;
const MAX_LOG_CHARACTERS = 64 * 1024;

/**
 * Runs a program whose calls are the items of a group. Calls are stored before they start, and the order of deliveries
 * before they are made, so that a later process can run the program again from its start and continue where this one
 * stopped: calls that have ended do not run again.
 */
export class ProgramRun {
  private session!: ProgramSession;
  /** Calls that the program has made since they were last taken. */
  private made: ProgramCall[] = [];
  /** Indexes of calls that have ended and are not delivered. */
  private readonly ended: number[] = [];
  private outcome: ProgramOutcome | undefined;
  /** Calls in the store. They are compared with those that the program makes again. */
  private stored: readonly StoredCall[] = [];
  private callCount = 0;
  /** The number of recorded deliveries. */
  private deliveries = 0;
  private readonly log: string[] = [];
  private logLength = 0;

  constructor(
    private readonly host: GroupHost,
    private readonly group: GroupRun,
    private readonly record: TaskRecord,
    private readonly report: (progress: number | undefined, step: string | undefined) => void,
  ) {}

  /** Runs it to its end. Returns undefined if the group was closed before. */
  async run(params: { readonly code: string; readonly args?: unknown }): Promise<JsonResult | undefined> {
    const { program, timeoutMs } = this.record.options;
    const { seed, vm } = program!;
    this.stored = await this.readCalls();
    const deliveries = await this.readDeliveries();
    if (deliveries.length > 0 && vm !== VM_VERSION) {
      throw diverged(`It began with version ${vm} of the VM, and this is ${VM_VERSION}.`);
    }
    const start = deliveries[0] ?? { index: -1, at: Date.now() };
    if (deliveries.length === 0) await this.recordDeliveries([start]);
    this.deliveries = Math.max(1, deliveries.length);
    this.session = new ProgramSession(
      {
        source: params.code,
        args: JSON.stringify(params.args ?? null),
        seed,
        startedAt: start.at,
        ...(timeoutMs !== undefined && { wallMs: timeoutMs }),
      },
      {
        calls: (calls) => {
          this.made.push(...calls);
          this.group.wake();
        },
        log: (text) => this.logged(text),
        progress: (share, step) => this.report(share, step),
        ended: (outcome) => {
          this.outcome = outcome;
          this.group.wake();
        },
      },
    );
    this.group.onItemOver = (index) => this.ended.push(index);
    try {
      await this.replay(deliveries.slice(1));
      await this.continue();
      return await this.finish();
    } finally {
      this.group.onItemOver = undefined;
      this.session.stop();
    }
  }

  /** Delivers what was delivered before, in the same order. */
  private async replay(deliveries: readonly Delivery[]): Promise<void> {
    const delivered = new Set<number>();
    for (let from = 0; from < deliveries.length; from += PAGE) {
      const some = deliveries.slice(from, from + PAGE);
      for (const { index } of some) delivered.add(index);
      await this.deliver(some);
      this.compareCalls();
      if (this.outcome !== undefined || this.group.isClosed) return;
    }
    await this.session.idle();
    this.compareCalls();
    if (this.outcome !== undefined || this.callCount >= this.stored.length) {
      for (const { index, hasEnded } of this.stored)
        if (hasEnded && !delivered.has(index)) this.ended.push(index);
      return;
    }
    throw diverged(
      `It made ${countText(this.callCount, 'call')} where it had made ${this.stored.length} before.`,
    );
  }

  /** Runs calls and delivers their ends until the program ends. */
  private async continue(): Promise<void> {
    const { host, group } = this;
    const hasOpen = this.stored.some(({ hasEnded }) => !hasEnded);
    if (hasOpen) await group.submitOpen();
    while (this.outcome === undefined && !group.isClosed) {
      if (this.made.length > 0) {
        const calls = this.made;
        this.made = [];
        await this.startCalls(calls);
      } else if (this.ended.length > 0) {
        const at = Date.now();
        const some = this.ended.splice(0, PAGE).map((index) => ({ index, at }));
        await this.recordDeliveries(some);
        await this.deliver(some);
      } else await group.change();
    }
    if (this.outcome !== undefined && !group.isClosed) await host.cancelItems(group, 'the program has ended');
  }

  private async finish(): Promise<JsonResult | undefined> {
    const { host, group, outcome, log } = this;
    if (group.isClosed || outcome === undefined) return undefined;
    if (log.length > 0) await host.store.logged(host.batch, group.seq, log.join('\n'));
    if (outcome.status === 'returned') return new JsonResult(outcome.value);
    const { code, reason, message } = outcome;
    throw new ToolFailure(message, {
      retryable: false,
      reason: reason as FailureReason,
      cause: new VolleyError(code, message),
    });
  }

  /** Compares the calls of a replay with those that were made before. The rest is new. */
  private compareCalls(): void {
    const isNew = ({ index }: ProgramCall) => index >= this.stored.length;
    for (const call of this.made) {
      if (isNew(call)) continue;
      const stored = this.stored[call.index]!;
      if (!isSameCall(call, stored))
        throw diverged(
          `Its call ${call.index} is ${call.function} where it was ${stored.function}${stored.function === call.function ? ' with other arguments' : ''}.`,
        );
    }
    this.callCount = Math.max(this.callCount, ...this.made.map(({ index }) => index + 1));
    this.made = this.made.filter(isNew);
  }

  /** Stores new calls, then starts them. */
  private async startCalls(calls: readonly ProgramCall[]): Promise<void> {
    const tasks = calls.map(({ index, function: tool, params, options }): NewTask => {
      const checked = callOptions(tool, options);
      const item = { group: this.group.id, index };
      return {
        id: itemId(this.group.id, index),
        name: tool,
        function: tool,
        params,
        options: (checked instanceof VolleyError
          ? { item: { ...item, problem: { code: checked.code, message: checked.message } } }
          : { ...checked, item }) satisfies TaskOptions,
      };
    });
    if (this.group.isClosed) return;
    await this.group.startItems(tasks);
  }

  private async recordDeliveries(deliveries: readonly Delivery[]): Promise<void> {
    const { store, batch } = this.host;
    await store.delivered(batch, this.group.seq, this.deliveries, deliveries);
    this.deliveries += deliveries.length;
  }

  private async deliver(deliveries: readonly Delivery[]): Promise<void> {
    const { store, batch } = this.host;
    const idOf = ({ index }: Delivery) => itemId(this.group.id, index);
    const results = await store.results(batch, deliveries.map(idOf));
    const ends: CallEnd[] = [];
    for (const delivery of deliveries) {
      const { index, at } = delivery;
      const id = idOf(delivery);
      const value = results.get(id);
      ends.push(value === undefined ? { index, at, error: await this.errorOf(id) } : { index, at, value });
    }
    this.session.deliver(ends);
  }

  private async errorOf(id: string): Promise<NonNullable<CallEnd['error']>> {
    const { store, batch } = this.host;
    const record = await store.task(batch, id);
    const { message, code, reason, status = 'cleared' } = record ?? {};
    return { message: message ?? `It was ${status}.`, code, reason: reason ?? status, callId: id };
  }

  private async readCalls(): Promise<StoredCall[]> {
    const { store, batch } = this.host;
    const calls: StoredCall[] = [];
    for (let afterSeq = 0; ; ) {
      const page = await store.items(batch, this.group.seq, { afterSeq, limit: PAGE });
      for (const { function: tool, params, status, options } of page) {
        const hasEnded = status !== 'open' && status !== 'running';
        calls.push({ index: options.item!.index, function: tool, params, hasEnded });
      }
      if (page.length < PAGE) return calls;
      afterSeq = page.at(-1)!.seq;
    }
  }

  private async readDeliveries(): Promise<Delivery[]> {
    const { store, batch } = this.host;
    const deliveries: Delivery[] = [];
    for (;;) {
      const page = await store.deliveries(batch, this.group.seq, deliveries.length, PAGE);
      deliveries.push(...page);
      if (page.length < PAGE) return deliveries;
    }
  }

  private logged(text: string): void {
    const line = this.host.coordinator.redactor.text(text);
    this.report(undefined, line);
    this.log.push(line);
    this.logLength += line.length;
    while (this.log.length > MAX_LOG_LINES || this.logLength > MAX_LOG_CHARACTERS)
      this.logLength -= this.log.shift()!.length;
  }
}

interface StoredCall {
  readonly index: number;
  readonly function: string;
  readonly params: string;
  readonly hasEnded: boolean;
}

function diverged(what: string): VolleyError {
  const message = `The program does not repeat what it did before, so it cannot continue. ${what} Retry it to start over.`;
  return Object.assign(new VolleyError('PROGRAM_DIVERGED', message), { retryable: false });
}
