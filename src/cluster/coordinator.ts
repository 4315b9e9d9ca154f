import { createHash, randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Job, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { ParallelToolCoordinator } from '../coordinator/coordinator.ts';
import type { RemoteCall, RemoteRunner } from '../coordinator/remote-runner.ts';
import { VolleyError } from '../core/errors.ts';
import type { Labels } from '../core/labels.ts';
import { type PlacementRule, WorkerPlacement } from '../core/placement.ts';
import { checkedLimit, checkedOutage, ToolFailure } from '../engine/tool-failure.ts';
import type { RunnerTask } from '../runners/runner.ts';
import type { Tool } from '../tools/tool.ts';
import { Artifacts } from './artifacts.ts';
import { type CoordinatorCommand, CoordinatorProtocol } from './protocol/coordinator-protocol.ts';
import {
  DEFAULT_TIMES,
  type InspectedJob,
  type ProtocolTimes,
  type WorkerNote,
} from './protocol/messages.ts';
import {
  ClusterRegistry,
  type ClusterSettings,
  loadPackage,
  type RegistryEntry,
  serverWarnings,
} from './registry.ts';
import { type MessageScope, parseMessage, Signer } from './signature.ts';
import { toolHash } from './tool-hash.ts';
import {
  type Assignment,
  type RemoteOutcome,
  type RemoteProgress,
  toolLabel,
  type WorkerOffer,
} from './work.ts';

export interface ClusterCoordinatorOptions {
  readonly placement?: PlacementRule;
  readonly times?: ProtocolTimes;
  /** Called with what people should know. */
  readonly notify?: (text: string) => void;
}

/** `lost`: the job is over, but nobody knows how it ended. */
type JobOutcome = RemoteOutcome | 'lost';

interface PendingCall {
  readonly assignment: string;
  readonly task: RunnerTask;
  readonly worker: string;
  settle(outcome: JobOutcome | undefined): void;
}

/** How long an assignment is valid, by the clock of the server. It is normally taken within milliseconds. */
const ASSIGNMENT_MS = 3_600_000;
/** How often queues without a worker are looked for. */
const ORPHANS_EVERY = 60;
/** The most jobs of one queue that are listed. A worker has fewer slots. */
const MAX_LISTED = 10_000;
const LOOK_MS = 50;
const JOB_OPTIONS = { attempts: 1, removeOnComplete: false, removeOnFail: false };

/**
 * The coordinator of a cluster: carries out the commands of {@link CoordinatorProtocol} on Redis, tells the engine which
 * workers there are, and runs attempts on them. It never runs tools itself.
 */
export class ClusterCoordinator implements RemoteRunner {
  private readonly protocol: CoordinatorProtocol<JobOutcome>;
  private readonly signer: Signer;
  private readonly artifacts: Artifacts;
  private readonly queues = new Map<string, Queue>();
  private readonly pending = new Map<string, PendingCall>();
  private readonly hashes = new WeakMap<Tool, Labels>();
  /** Assignments that go to a queue together, by session. */
  private outbox = new Map<string, string[]>();
  private tools: ParallelToolCoordinator | undefined;
  private readonly names = new Map<string, string>();
  private polls = 0;
  private serverNow = 0;
  private serials = 0;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;
  private readonly untrusted = new Set<string>();

  private constructor(
    private readonly registry: ClusterRegistry,
    private readonly subscriber: Redis,
    private readonly QueueClass: typeof Queue,
    private readonly id: string,
    readonly epoch: number,
    settings: ClusterSettings,
    private readonly times: ProtocolTimes,
    private readonly options: ClusterCoordinatorOptions,
  ) {
    this.protocol = new CoordinatorProtocol(epoch, times, performance.now());
    this.signer = new Signer(settings.key);
    this.artifacts = new Artifacts(settings.artifacts);
  }

  /** Connects, and waits for the lease of a coordinator that has crashed. Refused while another one is at work. */
  static async open(
    settings: ClusterSettings,
    options: ClusterCoordinatorOptions = {},
  ): Promise<ClusterCoordinator> {
    const { Queue } = await loadPackage(() => import('bullmq'));
    const { times = DEFAULT_TIMES, notify } = options;
    const registry = await ClusterRegistry.connect(settings);
    try {
      for (const warning of await serverWarnings(registry.redis)) notify?.(warning);
      const id = `${hostname()}/${process.pid}/${randomBytes(6).toString('hex')}`;
      const epoch = await acquire(registry, id, times, notify);
      const subscriber = registry.duplicate();
      await subscriber.connect();
      await subscriber.subscribe(registry.inbox);
      return new ClusterCoordinator(registry, subscriber, Queue, id, epoch, settings, times, options).start();
    } catch (error) {
      registry.close();
      throw error;
    }
  }

  /** Lets a coordinator of tools place its calls on the workers. */
  attach(tools: ParallelToolCoordinator): void {
    this.tools = tools;
    tools.useRemote(this, new WorkerPlacement(this.options.placement));
  }

  labelsFor(tool: Tool): Labels {
    let labels = this.hashes.get(tool);
    if (labels === undefined) {
      labels = { [toolLabel(tool.name)]: toolHash(tool) };
      this.hashes.set(tool, labels);
    }
    return labels;
  }

  async run(worker: string, { toolName, input, needs }: RemoteCall, task: RunnerTask): Promise<unknown> {
    const shipped = await this.artifacts.ship(JSON.stringify(input) ?? 'null');
    const key = this.keyFor(task);
    const assignment: Assignment = { toolName, input: shipped, needs };
    try {
      const outcome = await new Promise<JobOutcome | undefined>((settle) => {
        this.pending.set(key, { assignment: JSON.stringify(assignment), task, worker, settle });
        this.protocol.assign(key, worker);
        this.obey();
        task.onStop?.(() => {
          this.protocol.cancel(key);
          this.obey();
        });
      });
      return await this.valueOf(outcome, worker);
    } finally {
      await this.artifacts.drop(shipped);
    }
  }

  /** The names of the workers that can get work. */
  get workers(): string[] {
    return this.protocol.workers
      .filter(({ session }) => this.protocol.isReady(session))
      .map(({ name }) => name);
  }

  /** Waits for the first worker, up to a limit. */
  async hasWorker(limitMs: number): Promise<boolean> {
    const until = performance.now() + limitMs;
    while (this.workers.length === 0) {
      if (performance.now() > until || this.isClosed) return false;
      await sleep(LOOK_MS);
    }
    return true;
  }

  /** Returns the lease. Call it when nothing runs any more. */
  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    clearTimeout(this.timer);
    for (const [key] of this.pending) this.settle(key, undefined);
    const isConnected = this.registry.redis.status === 'ready';
    if (isConnected) await this.registry.release(this.id).catch(() => {});
    await Promise.all(Array.from(this.queues.values(), (queue) => queue.close().catch(() => {})));
    this.subscriber.disconnect();
    this.registry.close();
  }

  private start(): this {
    this.subscriber.on('message', (_, text) => this.received(text));
    this.registry.redis.on('ready', () => this.protocol.reconnected());
    void this.poll();
    return this;
  }

  /** Looks at the registry, again and again. While the server is away, the look waits. */
  private async poll(): Promise<void> {
    try {
      const { newestEpoch, now, entries } = await this.registry.poll(this.id, this.times.leaseMs, this.epoch);
      this.serverNow = now;
      const notes = entries.flatMap((entry) => this.openNote(entry));
      if (this.polls++ % ORPHANS_EVERY === 0) notes.push(...(await this.orphans(entries)));
      this.protocol.observed(notes, newestEpoch, performance.now());
      this.obey();
    } catch {
      // The connection broke in the middle. The next look repeats everything.
    }
    if (!this.isClosed) this.timer = setTimeout(() => void this.poll(), this.times.beatMs);
  }

  private openNote({ session, note, ageMs }: RegistryEntry) {
    const message = this.signer.open(parseMessage(note), 'note', session, this.serverNow);
    if (message !== undefined)
      return [{ note: { ...(JSON.parse(message.content) as WorkerNote), session }, ageMs }];
    if (!this.untrusted.has(session) && this.untrusted.size < 1000) {
      this.untrusted.add(session);
      this.options.notify?.(`A worker was ignored because its VOLLEY_CLUSTER_KEY differs: ${session}.`);
    }
    return [];
  }

  /** Queues whose workers are not in the registry any more. */
  private async orphans(entries: readonly RegistryEntry[]) {
    const known = new Set(entries.map(({ session }) => session));
    const sessions = (await this.registry.queues()).filter((session) => !known.has(session));
    return sessions.map((session) => ({ note: goneNote(session), ageMs: 0 }));
  }

  private received(text: string): void {
    const message = parseMessage(text);
    const outcome = this.signer.open(message, 'outcome', undefined, this.serverNow);
    if (outcome !== undefined) {
      const { session, key, epoch } = outcome.scope;
      if (epoch === this.epoch) this.protocol.received(session, key, JSON.parse(outcome.content));
      this.obey();
      return;
    }
    const progress = this.signer.open(message, 'progress', undefined, this.serverNow);
    const call = progress === undefined ? undefined : this.pending.get(progress.scope.key);
    if (call === undefined || call.worker !== progress!.scope.session) return;
    const { progress: share, step } = JSON.parse(progress!.content) as RemoteProgress;
    if (share === undefined) call.task.report(step ?? '');
    else call.task.report(share, step);
  }

  private obey(): void {
    for (const command of this.protocol.takeCommands()) this.carryOut(command);
  }

  private carryOut(command: CoordinatorCommand<JobOutcome>): void {
    switch (command.type) {
      case 'enqueue':
        this.enqueue(command.session, command.key);
        return;
      case 'cancel':
        void this.sendCancel(command.session, command.key);
        return;
      case 'forget':
        void this.forget(command.session, command.keys);
        return;
      case 'inspect':
        void this.inspect(command.session);
        return;
      case 'fence':
        void this.fence(command.session);
        return;
      case 'ended':
        this.settle(command.key, command.outcome);
        return;
      case 'worker':
        this.changeWorker(command.change, command.note);
        return;
      case 'deposed':
        this.options.notify?.('Another process has taken over the workers. Running calls were given up.');
        void this.close();
    }
  }

  /** Assignments of the same moment travel together. */
  private enqueue(session: string, key: string): void {
    if (this.outbox.size === 0) setImmediate(() => this.flush());
    const keys = this.outbox.get(session);
    if (keys === undefined) this.outbox.set(session, [key]);
    else keys.push(key);
  }

  private flush(): void {
    const { outbox } = this;
    this.outbox = new Map();
    for (const [session, keys] of outbox) {
      const jobs = keys.flatMap((key) => {
        const call = this.pending.get(key);
        if (call === undefined) return [];
        const scope = this.scope('assignment', session, key, this.serverNow + ASSIGNMENT_MS);
        return [
          {
            name: 'call',
            data: this.signer.sign(scope, call.assignment),
            opts: { ...JOB_OPTIONS, jobId: key },
          },
        ];
      });
      // If the server refuses them, for example because its memory is full, inspections find them missing.
      void this.queue(session)
        .addBulk(jobs)
        .catch(() => {})
        .then(() => {
          for (const key of keys) this.protocol.enqueued(key, session);
          this.obey();
        });
    }
  }

  private async sendCancel(session: string, key: string): Promise<void> {
    const message = this.signer.sign(this.scope('cancel', session, key, 0), '');
    await this.registry.redis
      .publish(this.registry.channelOf(session), JSON.stringify(message))
      .catch(() => {});
  }

  private async forget(session: string, keys: readonly string[]): Promise<void> {
    const queue = this.queue(session);
    await Promise.all(keys.map((key) => queue.remove(key).catch(() => {})));
  }

  private async inspect(session: string): Promise<void> {
    try {
      const jobs = await this.jobsOf(session);
      const text = await this.registry.note(session);
      const message = this.signer.open(parseMessage(text), 'note', session, this.serverNow);
      const note = message === undefined ? undefined : (JSON.parse(message.content) as WorkerNote);
      this.protocol.inspected(session, note, jobs);
      this.obey();
    } catch {
      // The connection broke. The next inspection repeats it.
    }
  }

  private async jobsOf(session: string): Promise<InspectedJob<JobOutcome>[]> {
    const queue = this.queue(session);
    const [open, completed, failed] = await Promise.all([
      queue.getJobs(['wait', 'active', 'delayed', 'prioritized'], 0, MAX_LISTED),
      queue.getJobs('completed', 0, MAX_LISTED),
      queue.getJobs('failed', 0, MAX_LISTED),
    ]);
    // A job that ends while its queue is listed may be missing from all lists, or be in two.
    return [
      ...open.map((job) => ({ key: job.id!, outcome: undefined })),
      ...completed.map((job) => ({ key: job.id!, outcome: this.outcomeOf(job as Job, session) })),
      ...failed.map((job) => ({ key: job.id!, outcome: 'lost' as const })),
    ];
  }

  private outcomeOf({ id, returnvalue }: Job, session: string): JobOutcome {
    const message = this.signer.open(returnvalue, 'outcome', session, this.serverNow);
    return message?.scope.key === id ? (JSON.parse(message!.content) as RemoteOutcome) : 'lost';
  }

  private async fence(session: string): Promise<void> {
    try {
      if (!(await this.registry.fence(session, this.epoch))) return;
      const jobs = await this.jobsOf(session);
      const queue = this.queue(session);
      await queue.obliterate({ force: true });
      await queue.close();
      this.queues.delete(session);
      this.protocol.cleared(session, jobs);
      this.obey();
    } catch {
      // The protocol asks again.
    }
  }

  private changeWorker(change: 'joined' | 'draining' | 'left', { session, name }: WorkerNote): void {
    if (change === 'joined') {
      this.names.set(session, name);
      void this.announce(session);
      return;
    }
    this.tools?.engine.changeWorkers((placement) =>
      change === 'left' ? placement.leave(session) : placement.drain(session),
    );
    if (change === 'left') this.options.notify?.(`Worker ${name} has left.`);
    else this.options.notify?.(`Worker ${name} is finishing its calls and will leave.`);
  }

  /** Lets the engine use a worker, with what it offers. */
  private async announce(session: string): Promise<void> {
    const text = await this.registry.offer(session).catch(() => null);
    const message = this.signer.open(parseMessage(text), 'note', session, this.serverNow);
    if (message === undefined || !this.protocol.isReady(session)) return;
    const { capacity, labels } = JSON.parse(message.content) as WorkerOffer;
    this.tools?.engine.changeWorkers((placement) => placement.join({ id: session, capacity, labels }));
    this.options.notify?.(`Worker ${this.names.get(session)} has joined.`);
  }

  private settle(key: string, outcome: JobOutcome | undefined): void {
    const call = this.pending.get(key);
    this.pending.delete(key);
    call?.settle(outcome);
  }

  private async valueOf(outcome: JobOutcome | undefined, worker: string): Promise<unknown> {
    if (outcome === undefined || outcome === 'lost') throw lost(this.names.get(worker) ?? worker);
    if (outcome.status === 'cancelled') throw new ToolFailure('The call was stopped.', { reason: 'error' });
    if (outcome.status === 'failed') throw failureOf(outcome);
    if (outcome.value === undefined) return undefined;
    const text = await this.artifacts.receive(outcome.value);
    await this.artifacts.drop(outcome.value);
    return JSON.parse(text);
  }

  private scope(kind: MessageScope['kind'], session: string, key: string, expiresAt: number): MessageScope {
    return { kind, session, key, epoch: this.epoch, expiresAt };
  }

  /** Readable, unique, and neither an integer nor with a colon, which BullMQ refuses. */
  private keyFor({ id, attempt }: RunnerTask): string {
    const hash = createHash('sha256').update(id).digest('hex').slice(0, 16);
    return `t${hash}-a${attempt}-n${++this.serials}-e${this.epoch}`;
  }

  private queue(session: string): Queue {
    let queue = this.queues.get(session);
    if (queue === undefined) {
      const { redis, queuePrefix } = this.registry;
      queue = new this.QueueClass(session, { connection: redis, prefix: queuePrefix, skipMetasUpdate: true });
      queue.on('error', () => {});
      this.queues.set(session, queue);
    }
    return queue;
  }
}

async function acquire(
  registry: ClusterRegistry,
  id: string,
  { leaseMs, beatMs }: ProtocolTimes,
  notify: ClusterCoordinatorOptions['notify'],
): Promise<number> {
  const until = performance.now() + leaseMs + 2 * beatMs;
  let isNoted = false;
  for (;;) {
    const { epoch, holder } = await registry.acquire(id, leaseMs);
    if (epoch > 0) return epoch;
    const [host, pid] = holder.split('/');
    if (performance.now() > until)
      throw new VolleyError(
        'CLUSTER_BUSY',
        `Process ${pid} on ${host} is already coordinating the workers. Wait for it to end, or use another cluster.prefix.`,
        { host, pid: Number(pid) },
      );
    if (!isNoted) notify?.(`Waiting for the lease of process ${pid} on ${host}.`);
    isNoted = true;
    await sleep(beatMs / 2);
  }
}

function goneNote(session: string): WorkerNote {
  return { name: session, session, beat: 0, epoch: 0, held: [], isDraining: true, isGone: true };
}

function lost(worker: string): ToolFailure {
  const message = `The worker ${worker} was lost during the call; how far the call got is unknown`;
  return new ToolFailure(message, {
    reason: 'crashed',
    isLost: true,
    cause: new VolleyError('WORKER_LOST', message, { worker }),
  });
}

function failureOf(outcome: Extract<RemoteOutcome, { status: 'failed' }>): ToolFailure {
  const { reason, retryable, error } = outcome;
  const { name, message, code } = error;
  const [limit, outage] = [checkedLimit(outcome.limit), checkedOutage(outcome.outage)];
  const why = { ...(limit !== undefined && { limit }), ...(outage !== undefined && { outage }) };
  const failure = new ToolFailure(message, { reason, retryable, ...why });
  failure.name = name;
  if (code !== undefined) Object.assign(failure, { code });
  return failure;
}
