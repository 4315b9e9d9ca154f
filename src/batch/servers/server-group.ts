import { setTimeout as sleep } from 'node:timers/promises';
import { type ErrorCode, VolleyError } from '../../core/errors.ts';
import { reasonText } from '../../core/words.ts';
import type { LeadershipState, ServerDetails, SharedServers } from '../../store/shared-servers.ts';
import type { Store } from '../../store/store.ts';
import type { ActionResult, BatchAnswer } from '../answer.ts';
import type { OtherServers } from '../context.ts';
import type { BatchExecutor } from '../executor/batch-executor.ts';
import { ELECTION_TIMES, Election, type ElectionTimes } from './election.ts';

/** The workers of a cluster, which only the server that leads uses. */
interface LeadersWorkers {
  lead(turn: number): void;
  rest(): void;
  /** How long the cluster has not answered. */
  readonly silentMs: number;
}

export interface ServerGroupOptions {
  readonly store: Store;
  readonly executor: BatchExecutor;
  readonly workers: LeadersWorkers | undefined;
  /** Where this server can be reached. */
  readonly address: string;
  readonly log: (
    level: 'info' | 'warn',
    event: ServerEvent,
    facts: Readonly<Record<string, unknown>>,
  ) => void;
  readonly times?: ElectionTimes;
}

type ServerEvent = 'leads' | 'leads no more' | 'continued' | 'not continued';

/** A leader whose cluster is silent for longer lets another server lead that can reach it. */
const CLUSTER_SILENT_MS = 5000;
/** How long to wait for the answer of a leader, which may be the next one. */
const ANSWER_MS = 30_000;
const ANSWER_POLL_MS = 50;
const REQUEST_POLL_MS = 100;
/** How long the end of everything waits for the store. */
const GOODBYE_MS = 2000;

/**
 * One of the servers on a shared store. The one that leads runs the batches that are started through any of them, so that
 * one scheduler counts for all limits. If it dies or is cut off, another one leads and continues its batches.
 */
export class ServerGroup implements OtherServers {
  private readonly election: Election;
  private readonly servers: SharedServers;
  private readonly details: ServerDetails;
  private readonly times: ElectionTimes;
  private isLeading = false;
  private isDraining = false;
  private isClosed = false;
  private beating: Promise<void> | undefined;
  private readonly timers: NodeJS.Timeout[] = [];
  private readonly continuing = new Set<string>();
  private readonly serving = new Set<number>();
  private isAsking = false;

  private constructor(private readonly options: ServerGroupOptions) {
    this.servers = options.store.servers!;
    this.details = { address: options.address };
    this.times = options.times ?? ELECTION_TIMES;
    this.election = new Election(this.times);
  }

  /** Makes this process one of the servers of its store. */
  static async join(options: ServerGroupOptions): Promise<ServerGroup> {
    const group = new ServerGroup(options);
    await group.servers.join(group.details);
    options.executor.useServers(group);
    await group.beat();
    const { beatMs } = group.times;
    group.timers.push(
      setInterval(() => void group.beat(), beatMs),
      setInterval(() => group.tick(), beatMs / 5),
      setInterval(() => void group.serve(), REQUEST_POLL_MS),
    );
    return group;
  }

  /** Whether this server runs the batches. */
  get leads(): boolean {
    return this.isLeading;
  }

  async start(args: { readonly batch: string }): Promise<ActionResult | undefined> {
    if (this.isLeading) return undefined;
    const { store } = this.options;
    const request = await this.servers.ask(JSON.stringify(args));
    try {
      const deadline = performance.now() + ANSWER_MS;
      while (performance.now() < deadline) {
        const text = await store.answerTo(request);
        if (text !== undefined) return resultOf(JSON.parse(text) as BatchAnswer);
        await sleep(ANSWER_POLL_MS);
      }
    } finally {
      await store.forget(request);
    }
    throw new VolleyError('NO_LEADER', 'No server on this store has taken the batch.', args);
  }

  /** Continues no more batches of others, and leaves its own to them as they end. */
  drain(): void {
    this.isDraining = true;
    this.options.executor.handOver();
  }

  /** Is no server any more. Call it when nothing runs. */
  async leave(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    for (const timer of this.timers) clearInterval(timer);
    await this.beating;
    this.options.workers?.rest();
    await Promise.race([this.servers.leave().catch(() => {}), sleep(GOODBYE_MS)]);
  }

  private beat(): Promise<void> {
    this.beating ??= this.beatOnce().finally(() => {
      this.beating = undefined;
    });
    return this.beating;
  }

  private async beatOnce(): Promise<void> {
    const { election, servers, times } = this;
    const isReady = (this.options.workers?.silentMs ?? 0) < CLUSTER_SILENT_MS;
    const sentAt = performance.now();
    try {
      const state = await servers.beat(election.epoch, this.details, isReady, 3 * times.beatMs);
      const step = election.observed(state, isReady, sentAt, performance.now());
      if (step === 'claim') {
        // If it led until now, others may have led since: what it ran then is theirs.
        await this.step('another server has led meanwhile');
        if (!this.isDraining) await this.claim(state, sentAt);
      }
      if (step === 'resign') {
        await this.step('the cluster cannot be reached from here, and another server can reach it');
        await servers.resign();
      }
    } catch {
      // The store cannot be reached. If it takes too long, the lead ends.
    }
    await this.step('another server leads, or the store could not be reached in time');
    if (!this.isLeading) await this.abandonAll('another server leads');
    else if (!this.isDraining) await this.continueOrphans();
  }

  private async claim(state: LeadershipState, sentAt: number): Promise<void> {
    const epoch = await this.servers.claim(state);
    if (epoch !== undefined) this.election.claimed(epoch, sentAt, performance.now());
  }

  private tick(): void {
    this.election.tick(performance.now());
    if (this.isLeading && !this.election.leads) void this.step('the store cannot be reached');
  }

  /** Does what follows from the election. */
  private async step(why: string): Promise<void> {
    const { workers, log } = this.options;
    if (this.election.leads === this.isLeading || this.isClosed) return;
    this.isLeading = this.election.leads;
    if (this.isLeading) {
      workers?.lead(this.election.epoch);
      log('info', 'leads', { epoch: this.election.epoch });
      return;
    }
    log('warn', 'leads no more', { why });
    const abandoning = this.abandonAll(why);
    workers?.rest();
    await abandoning;
  }

  /** Leaves all batches to the leader, also one that was just being started when this server lost the lead. */
  private async abandonAll(why: string): Promise<void> {
    const text = `This server does not lead any more: ${why}. The one that does continues its batches.`;
    const abandoning = this.options.executor.abandonAll(new VolleyError('BATCH_HELD', text));
    await Promise.race([abandoning, sleep(GOODBYE_MS, undefined, { ref: false })]);
  }

  /** Continues the batches of servers that nobody runs. */
  private async continueOrphans(): Promise<void> {
    try {
      for (const { batch, isHopeless } of await this.servers.orphans()) {
        if (this.continuing.has(batch)) continue;
        this.continuing.add(batch);
        void this.continueOne(batch, isHopeless).finally(() => this.continuing.delete(batch));
      }
    } catch {
      // The next beat repeats it.
    }
  }

  private async continueOne(batch: string, isHopeless: boolean): Promise<void> {
    const { executor, log } = this.options;
    if (isHopeless) {
      const why = 'the process that ran it died again and again before any task ended';
      await this.servers.leaveAlone(batch).then(
        () => log('warn', 'not continued', { batch, why }),
        () => undefined,
      );
      return;
    }
    const { ok, error, data } = await executor.takeOver(batch, false);
    if (ok) log('info', 'continued', { batch, ...(data['recovered'] as object) });
    // Another process was faster, or the next beat repeats it.
    else if (error!.code === 'BATCH_HELD' || error!.code === 'BATCH_RUNNING') return;
    else {
      log('warn', 'not continued', { batch, why: error!.message });
      if (error!.code === 'FEATURE_BATCH' || error!.code === 'INVALID_REQUEST')
        await this.servers.leaveAlone(batch).catch(() => undefined);
    }
  }

  /** Handles requests to the leader. */
  private async serve(): Promise<void> {
    if (!this.isLeading || this.isDraining || this.isAsking) return;
    this.isAsking = true;
    try {
      for (const { id, body } of await this.servers.asked()) {
        if (this.serving.has(id) || !this.isLeading) continue;
        this.serving.add(id);
        void this.serveOne(id, body).finally(() => this.serving.delete(id));
      }
    } catch {
      // The store cannot be reached. The caller waits.
    }
    this.isAsking = false;
  }

  private async serveOne(id: number, body: string): Promise<void> {
    const { executor, store } = this.options;
    try {
      const answer = await executor.handle({ ...JSON.parse(body), action: 'start', wait: false });
      await store.answer(id, JSON.stringify(answer));
    } catch {
      // The caller gives up, or sees the result in the state of the batch.
    }
  }
}

function resultOf({ ok, text, data, error }: BatchAnswer): ActionResult {
  if (ok) return { text, data };
  const { code: _, ...details } = data;
  throw new VolleyError((error?.code ?? 'INTERNAL') as ErrorCode, text || reasonText(error), details);
}
