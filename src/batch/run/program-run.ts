import { z } from 'zod';
import type { AttemptObserver } from '../../coordinator/call-runner.ts';
import { VolleyError } from '../../core/errors.ts';
import { COMPUTE, RUN_PROGRAM } from '../../core/script-tools.ts';
import { ToolFailure } from '../../engine/tool-failure.ts';
import {
  DEFAULT_LIMITS,
  type ProgramCall,
  type ProgramDelivery,
  type ProgramOutcome,
  ProgramSession,
  type ProgramStep,
  VM_VERSION,
} from '../../script/program-session.ts';
import { type RecordedCall, Replay } from '../../script/replay.ts';
import { hasBlobs, withBlobs } from '../../store/blobs.ts';
import {
  type Delivery,
  itemId,
  type NewTask,
  type TaskOptions,
  type TaskRecord,
} from '../../store/records.ts';
import { checkInput } from '../input/check.ts';
import { callSettings, TASK_FIELDS } from '../input/fields.ts';
import type { GroupHost, GroupRun } from './group-run.ts';
import { JsonResult } from './task-run.ts';

/** How many calls or deliveries are read or delivered at once. */
const PAGE = 500;
/** Each has a thread. The others wait for their turn. */
const MAX_PROGRAMS = 8;
const MAX_LOG_LINES = 200;
const MAX_LOG_CHARACTERS = 64 * 1024;

/** The second argument of a call in a program. */
const CALL_OPTIONS = z.strictObject({
  priority: TASK_FIELDS.priority,
  timeout: TASK_FIELDS.timeout,
  max_retries: TASK_FIELDS.max_retries,
  resources: TASK_FIELDS.resources,
});

interface ProgramParams {
  readonly code: string;
  readonly args: unknown;
}

/** A call in the store. */
interface StoredCall extends RecordedCall {
  readonly index: number;
  readonly hasEnded: boolean;
}

interface EndedCall {
  readonly index: number;
  /** Its result as JSON text, if it need not be read. */
  readonly text?: string | undefined;
}

/**
 * Runs a program whose calls are the items of a group. Calls are stored before they start, together with the deliveries
 * that came before them. So a later process can run the program again from its start and continue where this one
 * stopped: what has ended does not run again. A delivery that was not recorded in time had no effect outside the program.
 */
export class ProgramRun {
  /** What the program did that is not handled yet. */
  private readonly steps: ProgramStep[] = [];
  /** Calls that have ended and are not delivered yet. */
  private readonly ended: EndedCall[] = [];
  /** The number of recorded deliveries, including the start. */
  private recorded = 0;
  /** Deliveries that were made and are not recorded yet. */
  private readonly unrecorded: Delivery[] = [];
  /** Results that were delivered while they were being stored. */
  private readonly storing: Promise<void>[] = [];
  private readonly log: string[] = [];
  private logLength = 0;

  constructor(
    private readonly host: GroupHost,
    private readonly group: GroupRun,
    private readonly record: TaskRecord,
    private readonly observer: AttemptObserver | undefined,
  ) {}

  /** Runs it to its end. Returns undefined if the group was closed before. */
  async run(params: ProgramParams): Promise<JsonResult | undefined> {
    if (!(await takeTurn(this.group))) return undefined;
    try {
      return await this.runNow(params);
    } finally {
      running--;
      wakeNext();
    }
  }

  private async runNow({ code, args }: ProgramParams): Promise<JsonResult | undefined> {
    const { program, timeoutMs = DEFAULT_LIMITS.wallMs } = this.record.options;
    const calls = await this.readCalls();
    const [start, ...deliveries] = await this.readDeliveries();
    if (start !== undefined && program!.vm !== VM_VERSION) throw otherVersion(program!.vm);
    const startedAt = start?.at ?? Date.now();
    if (start === undefined) await this.recordDeliveries([{ index: -1, at: startedAt }]);
    else this.recorded = 1 + deliveries.length;
    const session = new ProgramSession(
      {
        source: code,
        args: JSON.stringify(args),
        seed: program!.seed,
        startedAt,
        limits: { ...DEFAULT_LIMITS, wallMs: timeoutMs },
      },
      (step) => {
        this.steps.push(step);
        this.group.wake();
      },
    );
    this.group.onResult = (id, text, stored) => {
      this.ended.push({ index: indexOf(id), text });
      this.storing.push(stored);
      this.group.wake();
    };
    this.group.onFailure = (id) => this.ended.push({ index: indexOf(id) });
    try {
      const outcome = await this.drive(session, calls, deliveries);
      return outcome && (await this.finish(outcome));
    } finally {
      this.group.onResult = undefined;
      this.group.onFailure = undefined;
      session.stop();
    }
  }

  /** Delivers what was delivered before, then runs calls and delivers their ends until the program ends. */
  private async drive(
    session: ProgramSession,
    calls: readonly StoredCall[],
    deliveries: readonly Delivery[],
  ): Promise<ProgramOutcome | undefined> {
    const { group } = this;
    const replay = new Replay({ calls, deliveries });
    for (let from = 0; from < deliveries.length; from += PAGE)
      session.deliver(await this.deliveriesOf(deliveries.slice(from, from + PAGE)));
    for (let isReplaying = true; !group.isClosed; ) {
      const step = this.steps.shift();
      if (step !== undefined) {
        this.note(step);
        const made = replay.accept(step);
        if (isReplaying && step.delivered === deliveries.length) {
          isReplaying = false;
          await this.resume(calls, deliveries);
        }
        await Promise.all(this.storing.splice(0));
        await Promise.all([this.recordMade(), this.start(made, step.outcome === undefined)]);
        if (step.outcome !== undefined) return step.outcome;
      } else if (!isReplaying && this.ended.length > 0) {
        const at = Date.now();
        const some = this.ended.splice(0, PAGE).map((call) => ({ ...call, at }));
        session.deliver(await this.deliveriesOf(some));
        for (const { index } of some) this.unrecorded.push({ index, at });
      } else await group.change();
    }
    return undefined;
  }

  /** Goes on with the calls of an earlier process. */
  private async resume(calls: readonly StoredCall[], deliveries: readonly Delivery[]): Promise<void> {
    const delivered = new Set(deliveries.map(({ index }) => index));
    for (const { index, hasEnded } of calls)
      if (hasEnded && !delivered.has(index)) this.ended.push({ index });
    if (calls.some(({ hasEnded }) => !hasEnded)) await this.group.submitOpen();
  }

  private async finish(outcome: ProgramOutcome): Promise<JsonResult> {
    const { host, group, log } = this;
    if (outcome.inFlight.length > 0) await host.cancelItems(group, 'the program has ended');
    if (log.length > 0) await host.store.logged(host.batch, group.seq, log.join('\n'));
    if (outcome.error === undefined) return new JsonResult(outcome.value ?? 'null');
    const { error, reason } = outcome;
    throw new ToolFailure(error.message, { retryable: false, reason, cause: error });
  }

  /** Stores new calls, then starts them, unless the program has ended meanwhile. */
  private async start(calls: readonly ProgramCall[], isWanted: boolean): Promise<void> {
    if (calls.length === 0) return;
    const { group } = this;
    const tasks = await Promise.all(calls.map((call) => this.taskOf(call)));
    if (!group.isClosed) await group.addCalls(tasks, isWanted);
  }

  private async taskOf(call: ProgramCall): Promise<NewTask> {
    const { host, group } = this;
    const { index, function: tool, params, hash, after } = call;
    const checked = callOptions(tool, call.options);
    const item = { group: group.id, index, call: { hash, after } };
    return {
      id: itemId(group.id, index),
      name: tool,
      function: tool,
      // Pictures and files of earlier results are passed on as what they are.
      params: hasBlobs(params)
        ? JSON.stringify(await withBlobs(host.store, host.batch, JSON.parse(params)))
        : params,
      options:
        checked instanceof VolleyError
          ? { item: { ...item, problem: { code: checked.code, message: checked.message } } }
          : { ...checked, item },
    };
  }

  private async recordMade(): Promise<void> {
    // Another process may continue the batch by now.
    if (this.unrecorded.length > 0 && !this.group.isClosed)
      await this.recordDeliveries(this.unrecorded.splice(0));
  }

  private async recordDeliveries(deliveries: readonly Delivery[]): Promise<void> {
    const { store, batch } = this.host;
    await store.delivered(batch, this.group.seq, this.recorded, deliveries);
    this.recorded += deliveries.length;
  }

  /** Adds to deliveries how the calls ended. */
  private async deliveriesOf(deliveries: readonly (Delivery & EndedCall)[]): Promise<ProgramDelivery[]> {
    const { store, batch } = this.host;
    const idOf = ({ index }: Delivery) => itemId(this.group.id, index);
    const unread = deliveries.filter(({ text }) => text === undefined);
    const results = unread.length === 0 ? undefined : await store.results(batch, unread.map(idOf));
    return Promise.all(
      deliveries.map(async ({ text, ...delivery }) => {
        const id = idOf(delivery);
        const value = text ?? results?.get(id);
        return value === undefined ? { ...delivery, error: await this.errorOf(id) } : { ...delivery, value };
      }),
    );
  }

  private async errorOf(id: string): Promise<NonNullable<ProgramDelivery['error']>> {
    const { store, batch } = this.host;
    const { message, code, reason, status = 'cleared' } = (await store.task(batch, id)) ?? {};
    return {
      message: message ?? `The call was ${status}.`,
      ...(code !== undefined && { code }),
      reason: reason ?? status,
      callId: id,
    };
  }

  private async readCalls(): Promise<StoredCall[]> {
    const { store, batch } = this.host;
    const calls: StoredCall[] = [];
    for (let afterSeq = 0; ; ) {
      const page = await store.items(batch, this.group.seq, { afterSeq, limit: PAGE });
      for (const { function: tool, status, options } of page) {
        const { index, call } = options.item!;
        calls.push({ index, function: tool, ...call!, hasEnded: status !== 'open' && status !== 'running' });
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

  /** Reports what the program logged and how far it is. */
  private note({ log, progress }: ProgramStep): void {
    for (const text of log) {
      const line = this.host.coordinator.redactor.text(text);
      this.observer?.reported(undefined, line);
      this.observer?.printed('log', `${text}\n`);
      this.log.push(line);
      this.logLength += line.length;
    }
    while (this.log.length > MAX_LOG_LINES || this.logLength > MAX_LOG_CHARACTERS)
      this.logLength -= this.log.shift()!.length;
    if (progress !== undefined) this.observer?.reported(progress.share, progress.step);
  }
}

/** The index in the id of a call. */
function indexOf(id: string): number {
  return Number(id.slice(id.lastIndexOf('[') + 1, -1));
}

function otherVersion(vm: string): VolleyError {
  const message = `The program began with ${vm}, and this is ${VM_VERSION}, so it cannot continue. Retry it to start over.`;
  return Object.assign(new VolleyError('PROGRAM_DIVERGED', message), { retryable: false });
}

/** How many programs run in this process. */
let running = 0;
/** The groups of programs that wait for their turn. */
const waiting = new Set<GroupRun>();

/** Waits until few enough programs run. Returns false if the group was closed before. */
async function takeTurn(group: GroupRun): Promise<boolean> {
  waiting.add(group);
  while (running >= MAX_PROGRAMS && !group.isClosed) await group.change();
  waiting.delete(group);
  if (!group.isClosed) {
    running++;
    return true;
  }
  wakeNext();
  return false;
}

function wakeNext(): void {
  const [next] = waiting;
  next?.wake();
}

/** The options of a call in a program, or why it cannot be made. */
function callOptions(tool: string, options: string | undefined): TaskOptions | VolleyError {
  try {
    if (tool === RUN_PROGRAM || tool === COMPUTE)
      throw new VolleyError(
        'TOOL_NOT_ALLOWED',
        `A program cannot call ${tool}. Write it in the program itself.`,
      );
    if (options === undefined) return {};
    return callSettings(checkInput(CALL_OPTIONS, tool, JSON.parse(options)));
  } catch (error) {
    if (error instanceof VolleyError) return error;
    throw error;
  }
}
