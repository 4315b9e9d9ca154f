import { createHash, randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { ParallelToolCoordinator } from '../coordinator/coordinator.ts';
import {
  LOCAL_LABELS,
  type OfferedAgents,
  type RemoteCall,
  type RemoteRunner,
  type WorkerDirectory,
  type WorkerStatus,
} from '../coordinator/remote-runner.ts';
import { VolleyError } from '../core/errors.ts';
import { isReservedLabel, type Labels, labeledTool, SHARE_LABEL, toolLabel } from '../core/labels.ts';
import { type PlacementRule, WorkerPlacement } from '../core/placement.ts';
import { reasonText } from '../core/words.ts';
import { checkedLimit, checkedOutage, ToolFailure } from '../engine/tool-failure.ts';
import type { RunnerTask } from '../runners/runner.ts';
import { Roots } from '../tools/builtin/roots.ts';
import type { Tool } from '../tools/tool.ts';
import { type ArtifactStore, openArtifactStore } from './artifact-store.ts';
import { Artifacts, type Shipped } from './artifacts.ts';
import { packInputs, sendableFiles, unpackOutputs } from './files.ts';
import { type CoordinatorCommand, CoordinatorProtocol } from './protocol/coordinator-protocol.ts';
import {
  checkedNote,
  DEFAULT_TIMES,
  PROTOCOL_VERSION,
  type ProtocolTimes,
  type StoredOutcome,
  type WorkerNote,
} from './protocol/messages.ts';
import {
  ClusterRegistry,
  type ClusterSettings,
  isRefusal,
  loadPackage,
  type RegistryEntry,
  serverWarnings,
  unsuitable,
} from './registry.ts';
import { contentOf, type MessageScope, parseMessage, type SignedMessage, Signer } from './signature.ts';
import { toolHash } from './tool-hash.ts';
import {
  type Assignment,
  checkedOffer,
  checkedOutcome,
  checkedProgress,
  type DeliveredCalls,
  NO_AGENTS,
  nameOf,
  type RemoteOutcome,
  usesFiles,
  type WorkerOffer,
} from './work.ts';
import { WorkerPace } from './worker-pace.ts';

export interface ClusterCoordinatorOptions {
  readonly placement?: PlacementRule;
  readonly times?: ProtocolTimes;
  /** Called with what people should know. */
  readonly notify?: (text: string) => void;
  /**
   * Who chooses the coordinator, if it is one of several processes: whom it lets `lead` takes the workers from the others at
   * once. Until then it rests, and calls run in their own process.
   */
  readonly owner?: string;
}

interface PendingCall {
  readonly toolName: string;
  readonly assignment: string;
  readonly task: RunnerTask;
  readonly worker: string;
  settle(outcome: RemoteOutcome | undefined): void;
}

/**
 * How long an assignment is valid, by the clock of the server. It is normally taken within milliseconds, and signed anew
 * when it is sent again. A worker must remember all that it has run for as long, or a repeated one would run twice.
 */
const ASSIGNMENT_MS = 20_000;
/** How often queues without a worker are looked for, and artifacts that nobody fetches. */
const ORPHANS_EVERY = 60;
const SWEEP_EVERY = 3600;
/** The most jobs of one queue that are listed. A worker has fewer slots. */
const MAX_LISTED = 10_000;
const LOOK_MS = 50;
const JOB_OPTIONS = { attempts: 1, removeOnComplete: true, removeOnFail: true };
/** The most attempts that travel in one job, so that a worker starts the first ones soon. */
const MAX_TOGETHER = 64;
/** How long an attempt that was sent directly may take before it is put into the queue too. */
const DIRECT_MS = 2;
/** How long outcomes that are over may stay on the server, so that many are removed at once. */
const FORGET_MS = 20;
/** How long to wait for the server when everything ends. */
const GOODBYE_MS = 1000;
/** The most workers about which people are told why they get no work. */
const MAX_NOTED = 1000;

/**
 * The coordinator of a cluster: carries out the commands of {@link CoordinatorProtocol} on Redis, tells the engine which
 * workers there are, and runs attempts on them. It never runs tools itself.
 */
export class ClusterCoordinator implements RemoteRunner, WorkerDirectory {
  private protocol: CoordinatorProtocol<RemoteOutcome>;
  private readonly signer: Signer;
  private readonly artifacts: Artifacts;
  private readonly queues = new Map<string, Queue>();
  private readonly pending = new Map<string, PendingCall>();
  private readonly hashes = new WeakMap<Tool, Labels>();
  /** Attempts that go to a queue together, by session. */
  private readonly outbox = new Map<string, string[]>();
  /** Outcomes that are removed together, by session. */
  private readonly over = new Map<string, string[]>();
  private deliveries = 0;
  /** How fast each worker is, by session. */
  private readonly paces = new Map<string, WorkerPace>();
  private tools: ParallelToolCoordinator | undefined;
  private readonly placement: WorkerPlacement;
  private readonly share: string;
  /** What the workers that have joined offer, by session. */
  private readonly offers = new Map<string, WorkerOffer>();
  private readonly ended = new Map<string, Record<'completed' | 'failed' | 'cancelled', number>>();
  private polls = 0;
  private serverNow = 0;
  private serials = 0;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;
  private isDeposed = false;
  /** Whether it must not coordinate, because another process of its owner does. */
  private isResting = false;
  private turn = 0;
  private heardAt = performance.now();
  /** What the server refused last. */
  private readonly refusedWork = new Set<'look' | 'delivery'>();
  /** Sessions that are ignored, or whose offers are. */
  private readonly ignored = new Set<string>();

  private constructor(
    private readonly registry: ClusterRegistry,
    private readonly subscriber: Redis,
    private readonly QueueClass: typeof Queue,
    private readonly id: string,
    /** 0 until it coordinates. */
    public epoch: number,
    settings: ClusterSettings,
    store: ArtifactStore | undefined,
    private readonly times: ProtocolTimes,
    private readonly options: ClusterCoordinatorOptions,
  ) {
    this.protocol = new CoordinatorProtocol(epoch, times, performance.now());
    this.share = settings.share;
    this.placement = new WorkerPlacement(options.placement);
    this.signer = new Signer(settings.key);
    this.artifacts = new Artifacts(store, async () => registry.artifacts);
    this.isDeposed = this.isResting = options.owner !== undefined;
  }

  /** Connects, and waits for the lease of a coordinator that has crashed. Refused while another one is at work. */
  static async open(
    settings: ClusterSettings,
    options: ClusterCoordinatorOptions = {},
  ): Promise<ClusterCoordinator> {
    const { Queue } = await loadPackage(() => import('bullmq'));
    const { times = DEFAULT_TIMES, notify, owner } = options;
    const registry = await ClusterRegistry.connect(settings, times);
    try {
      for (const warning of await serverWarnings(registry.redis)) notify?.(warning);
      const store = await openArtifactStore(settings);
      const own = `${hostname()}/${process.pid}/${randomBytes(6).toString('hex')}`;
      const id = owner === undefined ? own : `${own}/${owner}`;
      const epoch = owner === undefined ? await acquire(registry, id, times, notify) : 0;
      const subscriber = registry.duplicate();
      await subscriber.connect();
      await subscriber.subscribe(registry.inbox);
      const parts = [registry, subscriber, Queue, id, epoch, settings, store, times, options] as const;
      return new ClusterCoordinator(...parts).start();
    } catch (error) {
      registry.close();
      throw isRefusal(error) ? unsuitable(`it refuses a command: ${error.message}`) : error;
    }
  }

  /** Lets a coordinator of tools place its calls on the workers. */
  attach(tools: ParallelToolCoordinator): void {
    this.tools = tools;
    tools.useRemote(this, this.placement);
  }

  /** Coordinates from now on, and takes the workers from the process of its owner that had an earlier turn. */
  lead(turn: number): void {
    this.turn = turn;
    this.isResting = false;
    if (this.timer === undefined) return;
    clearTimeout(this.timer);
    void this.poll();
  }

  /** Leaves the workers to another process of its owner. Running calls are lost. */
  rest(): void {
    if (this.isResting) return;
    this.isResting = true;
    if (this.isDeposed) return;
    this.protocol.resign();
    this.obey();
    if (this.registry.redis.status === 'ready') void this.registry.release(this.id).catch(() => {});
  }

  /** How long the server has not answered. */
  get silentMs(): number {
    return performance.now() - this.heardAt;
  }

  labelsFor(tool: Tool, input: unknown): Labels {
    if (this.isResting) return LOCAL_LABELS;
    let labels = this.hashes.get(tool);
    if (labels === undefined) {
      labels = { [toolLabel(tool.name)]: toolHash(tool) };
      this.hashes.set(tool, labels);
    }
    const needsShare = usesFiles(tool) && sendableFiles(tool, input) === undefined;
    return needsShare ? { ...labels, [SHARE_LABEL]: this.share } : labels;
  }

  nameOf(worker: string): string {
    return nameOf(worker);
  }

  agentsOf(worker: string): OfferedAgents {
    return this.offers.get(worker)?.agents ?? NO_AGENTS;
  }

  async run(worker: string, call: RemoteCall, task: RunnerTask): Promise<unknown> {
    const { tool, input, needs } = call;
    const toolName = tool.name;
    const sent: (Shipped | undefined)[] = [];
    let isStopped = false;
    task.onStop?.(() => {
      isStopped = true;
    });
    try {
      const shipped = await this.artifacts.ship(JSON.stringify(input) ?? 'null', task);
      sent.push(shipped);
      const files = await this.filesFor(worker, call, task);
      sent.push(files?.inputs);
      // Nobody waits for it any more, and another process may have gone on with the batch.
      if (isStopped) throw stopped();
      const key = this.keyFor(task);
      const logs = call.folder === undefined ? {} : { logs: true as const };
      const assignment: Assignment = { toolName, input: shipped, needs, ...(files && { files }), ...logs };
      const outcome = await new Promise<RemoteOutcome | undefined>((settle) => {
        this.pending.set(key, { toolName, assignment: JSON.stringify(assignment), task, worker, settle });
        this.protocol.assign(key, worker);
        this.obey();
        task.onStop?.(() => {
          this.protocol.cancel(key);
          this.obey();
        });
      });
      const { files: written, value } = outcome?.status === 'completed' ? outcome : {};
      sent.push(written, value);
      if (files !== undefined && written !== undefined) {
        const pack = await this.artifacts.receive(written, task);
        await unpackOutputs(this.rootsOf(call), files.outputs, pack, task.signal);
      }
      return await this.valueOf(outcome, worker, task);
    } finally {
      for (const shipped of sent) this.artifacts.drop(shipped);
    }
  }

  /** Sends what the call reads, if the worker does not have the files of this machine. */
  private async filesFor(worker: string, call: RemoteCall, task: RunnerTask): Promise<Assignment['files']> {
    const { tool, input, folder } = call;
    const isShared = this.offers.get(worker)?.labels[SHARE_LABEL] === this.share;
    if (!usesFiles(tool) || (isShared && folder === undefined)) return undefined;
    const { inputs = {}, outputs = [] } = sendableFiles(tool, input) ?? {};
    const pack = await packInputs(this.rootsOf(call), inputs, task.signal);
    return { inputs: await this.artifacts.ship(pack, task), outputs };
  }

  private rootsOf({ folder }: RemoteCall): Roots {
    return folder === undefined ? this.tools!.roots : new Roots([folder]);
  }

  /** The names of the workers that can get work. */
  get workers(): string[] {
    return this.protocol.workers
      .filter(({ session }) => this.protocol.isReady(session) && this.offers.has(session))
      .map(({ name }) => name);
  }

  list(): WorkerStatus[] {
    const now = performance.now();
    const calls = new Map<string, PendingCall[]>();
    for (const call of this.pending.values())
      calls.set(call.worker, [...(calls.get(call.worker) ?? []), call]);
    const found = this.protocol.overview.flatMap(({ note: { session, name }, state, heardAt }) => {
      const offer = this.offers.get(session);
      if (offer === undefined) return [];
      const { host, pid, version, labels } = offer;
      return [
        {
          ...{ name, state, host, pid, version },
          labels: Object.fromEntries(Object.entries(labels).filter(([label]) => !isReservedLabel(label))),
          agents: offer.agents ?? NO_AGENTS,
          tools: Object.keys(labels).filter((label) => labeledTool(label) !== undefined).length,
          lastHeardMs: Math.max(0, now - heardAt),
          use: this.placement.use(session),
          spare: this.placement.workers.get(session)?.spare ?? 0,
          calls: (calls.get(session) ?? []).map(({ task, toolName }) => ({ id: task.id, toolName })),
          ended: this.ended.get(session)!,
        },
      ];
    });
    return found.sort((a, b) => a.name.localeCompare(b.name));
  }

  async drain(name: string): Promise<boolean> {
    if (!this.list().some((worker) => worker.name === name)) return false;
    await this.registry.setDraining(name, true);
    return true;
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
    await Promise.race([this.artifacts.dropped(), sleep(GOODBYE_MS)]);
    const isConnected = this.registry.redis.status === 'ready';
    if (isConnected) await Promise.race([this.registry.release(this.id).catch(() => {}), sleep(GOODBYE_MS)]);
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
    this.timer = undefined;
    // Otherwise nobody would notice that it is dead.
    if (this.subscriber.status === 'ready') void this.subscriber.ping().catch(() => {});
    try {
      if (this.isDeposed && !this.isResting) await this.regain();
      if (!this.isDeposed) await this.lookAtRegistry();
      else if (this.isResting) await this.registry.redis.ping();
      this.heardAt = performance.now();
      this.accepted('look');
    } catch (error) {
      // The connection broke in the middle. The next look repeats everything.
      this.refused('look', error);
    }
    if (!this.isClosed) this.timer = setTimeout(() => void this.poll(), this.times.beatMs);
  }

  /** Becomes the coordinator again, when the lease of the other one has ended. */
  private async regain(): Promise<void> {
    const { owner } = this.options;
    const { turn } = this;
    const { epoch } = await this.registry.acquire(
      this.id,
      this.times.leaseMs,
      owner === undefined ? undefined : { owner: `/${owner}`, turn },
    );
    if (epoch === 0 || this.isResting || turn !== this.turn) return;
    this.epoch = epoch;
    this.protocol = new CoordinatorProtocol(epoch, this.times, performance.now());
    this.isDeposed = false;
    if (owner === undefined)
      this.options.notify?.('The other process has left the workers. They are used again.');
  }

  private async lookAtRegistry(): Promise<void> {
    const { newestEpoch, now, entries } = await this.registry.poll(this.id, this.times.leaseMs, this.epoch);
    this.serverNow = now;
    const notes = entries.flatMap((entry) => this.openNote(entry));
    // It may be on another machine, which is not waited for.
    if (this.polls % SWEEP_EVERY === 0) void this.artifacts.sweep().catch(() => {});
    if (this.polls++ % ORPHANS_EVERY === 0) notes.push(...(await this.orphans(entries)));
    this.protocol.observed(notes, newestEpoch, performance.now());
    this.obey();
    // The offer of a worker that has joined could not be read.
    for (const { session } of this.protocol.workers)
      if (this.protocol.isReady(session) && !this.offers.has(session) && !this.ignored.has(session))
        void this.announce(session);
  }

  private openNote({ session, note, ageMs }: RegistryEntry) {
    const message = this.signer.open(parseMessage(note), 'note', session, this.serverNow);
    if (message === undefined) {
      this.ignore(session, `A worker was ignored because its VOLLEY_CLUSTER_KEY differs: ${session}.`);
      return [];
    }
    const { protocol = 0, ...content } = contentOf<WorkerNote & { protocol: number }>(message) ?? {};
    const sound = checkedNote({ ...content, session });
    if (protocol === PROTOCOL_VERSION && sound !== undefined) return [{ note: sound, ageMs }];
    const isSameVersion = protocol === PROTOCOL_VERSION;
    this.ignore(
      session,
      isSameVersion
        ? `Worker ${nameOf(session)} gets no work: its notes cannot be read.`
        : `Worker ${nameOf(session)} gets no work: it speaks version ${protocol} of the cluster protocol, and this process version ${PROTOCOL_VERSION}. Run the same version of Volley on all machines.`,
    );
    // Nobody else removes what is left of it.
    return ageMs > this.times.leaseMs ? [{ note: goneNote(session), ageMs }] : [];
  }

  private ignore(session: string, why: string): void {
    if (this.ignored.has(session) || this.ignored.size >= MAX_NOTED) return;
    this.ignored.add(session);
    this.options.notify?.(why);
  }

  /** People see once that the server refuses commands, and once that it does not any more. */
  private refused(what: 'look' | 'delivery', error: unknown): void {
    if (!isRefusal(error)) return;
    if (this.refusedWork.size === 0)
      this.options.notify?.(`The Redis server refuses commands, so calls wait: ${error.message}`);
    this.refusedWork.add(what);
  }

  private accepted(what: 'look' | 'delivery'): void {
    if (this.refusedWork.delete(what) && this.refusedWork.size === 0)
      this.options.notify?.('The Redis server accepts commands again.');
  }

  /** Queues whose workers are not in the registry any more. */
  private async orphans(entries: readonly RegistryEntry[]) {
    const known = new Set(entries.map(({ session }) => session));
    const sessions = (await this.registry.queues()).filter((session) => !known.has(session));
    return sessions.map((session) => ({ note: goneNote(session), ageMs: 0 }));
  }

  /** Handles a message of a worker: a list of outcomes, or progress. */
  private received(text: string): void {
    const message = parseMessage(text);
    if (!Array.isArray(message)) {
      this.progressed(message);
      return;
    }
    const changed = new Set<string>();
    for (const each of message) {
      const outcome = this.signer.open(each, 'outcome', undefined, this.serverNow);
      if (outcome?.scope.epoch !== this.epoch) continue;
      const { session, key } = outcome.scope;
      const content = checkedOutcome(contentOf(outcome));
      if (content === undefined) continue;
      this.paces.get(session)?.note(content.durationMs);
      changed.add(session);
      this.protocol.received(session, key, content);
    }
    for (const session of changed) this.updateSpare(session);
    this.obey();
  }

  private progressed(message: unknown): void {
    const progress = this.signer.open(message, 'progress', undefined, this.serverNow);
    const call = progress === undefined ? undefined : this.pending.get(progress.scope.key);
    const content = checkedProgress(contentOf(progress));
    if (call === undefined || content === undefined || call.worker !== progress!.scope.session) return;
    const { progress: share, step, log, hasBegun = false } = content;
    if (hasBegun) call.task.began();
    else if (log !== undefined) call.task.log?.(log);
    else if (share === undefined) call.task.report(step ?? '');
    else call.task.report(share, step);
  }

  private obey(): void {
    for (const command of this.protocol.takeCommands()) this.carryOut(command);
  }

  private carryOut(command: CoordinatorCommand<RemoteOutcome>): void {
    switch (command.type) {
      case 'enqueue':
        this.enqueue(command.session, command.key);
        return;
      case 'cancel':
        this.send('cancel', command.session, command.key);
        return;
      case 'recall':
        this.recall(command.session, command.key);
        return;
      case 'forget':
        this.forget(command.session, command.keys);
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
        this.isDeposed = true;
        if (this.isResting) return;
        this.options.notify?.(
          'Another process has taken over the workers. Running calls were given up, and others wait until it has ended.',
        );
    }
  }

  /** Attempts of the same moment travel together. */
  private enqueue(session: string, key: string): void {
    const keys = this.outbox.get(session);
    if (keys !== undefined) {
      keys.push(key);
      return;
    }
    this.outbox.set(session, [key]);
    // A single one has nobody to wait for.
    if (this.protocol.open === 1) queueMicrotask(() => this.flush(session));
    else setImmediate(() => this.flush(session));
  }

  private flush(session: string): void {
    const keys = this.outbox.get(session)!;
    this.outbox.delete(session);
    const groups: { readonly jobId: string; readonly keys: readonly string[] }[] = [];
    for (let at = 0; at < keys.length; at += MAX_TOGETHER)
      groups.push({ jobId: `d${++this.deliveries}-e${this.epoch}`, keys: keys.slice(at, at + MAX_TOGETHER) });
    const { protocol } = this;
    void this.deliver(session, groups).then((isSent) => {
      if (!isSent || protocol !== this.protocol) return;
      for (const key of keys) protocol.enqueued(key, session);
      this.obey();
    });
  }

  /**
   * Puts groups of attempts into a queue. A single one is sent directly first, which takes half as long; if it ends soon, it
   * needs no queue, and if the message is lost, it has one. If the connection breaks or the server refuses them, for example because its
   * memory is full, they are sent again: a job whose id is known is ignored, and so is an attempt by its worker. Returns
   * false if all of them have ended meanwhile.
   */
  private async deliver(
    session: string,
    groups: readonly { readonly jobId: string; readonly keys: readonly string[] }[],
  ): Promise<boolean> {
    const [only, ...others] = groups.flatMap(({ keys }) => keys);
    if (others.length === 0) {
      for (const message of this.signed(session, only!)) this.publish(session, message);
      await sleep(DIRECT_MS);
    }
    for (;;) {
      const jobs = groups.flatMap(({ jobId, keys }) => {
        const calls = keys.flatMap((key) => this.signed(session, key));
        const data: DeliveredCalls = { calls };
        return calls.length === 0 ? [] : [{ name: 'calls', data, opts: { ...JOB_OPTIONS, jobId } }];
      });
      if (jobs.length === 0 || this.isClosed) return false;
      try {
        const queue = this.queue(session);
        const [only, ...more] = jobs;
        // A single one takes fewer commands.
        if (more.length === 0) await queue.add(only!.name, only!.data, only!.opts);
        else await queue.addBulk(jobs);
        this.accepted('delivery');
        return true;
      } catch (error) {
        this.refused('delivery', error);
        await sleep(this.times.beatMs);
      }
    }
  }

  private signed(session: string, key: string): SignedMessage[] {
    const call = this.pending.get(key);
    if (call === undefined) return [];
    const scope = this.scope('assignment', session, key, this.serverNow + ASSIGNMENT_MS);
    return [this.signer.sign(scope, call.assignment)];
  }

  /** Calls wait on the worker for longer than expected: it gets no more of them until its calls are short again. */
  private recall(session: string, key: string): void {
    this.paces.get(session)?.slowDown();
    this.updateSpare(session);
    this.send('recall', session, key);
  }

  private send(kind: 'cancel' | 'recall', session: string, key: string): void {
    this.publish(session, this.signer.sign(this.scope(kind, session, key, 0), ''));
  }

  /** Sends a message to a worker, which may be lost. */
  private publish(session: string, message: SignedMessage): void {
    const { redis } = this.registry;
    void redis.publish(this.registry.channelOf(session), JSON.stringify(message)).catch(() => {});
  }

  private forget(session: string, keys: readonly string[]): void {
    const waiting = this.over.get(session);
    if (waiting !== undefined) {
      waiting.push(...keys);
      return;
    }
    this.over.set(session, [...keys]);
    setTimeout(() => {
      const all = this.over.get(session)!;
      this.over.delete(session);
      // If it fails, an inspection finds them again.
      if (!this.isClosed) void this.registry.dropOutcomes(session, all).catch(() => {});
    }, FORGET_MS);
  }

  private async inspect(session: string): Promise<void> {
    try {
      const queued = await this.queuedKeys(session);
      const text = await this.registry.note(session);
      const outcomes = this.opened(await this.registry.outcomes(session), session);
      const message = this.signer.open(parseMessage(text), 'note', session, this.serverNow);
      const note = checkedNote(contentOf(message));
      this.protocol.inspected(session, { queued, note, outcomes });
      this.obey();
    } catch {
      // The connection broke. The next inspection repeats it.
    }
  }

  /** The attempts that the worker has not accepted. They are not trusted; the protocol only looks for its own. */
  private async queuedKeys(session: string): Promise<string[]> {
    const jobs = await this.queue(session).getJobs(
      ['wait', 'active', 'delayed', 'prioritized'],
      0,
      MAX_LISTED,
    );
    return jobs.flatMap((job) => {
      const { calls } = (job?.data ?? {}) as Partial<DeliveredCalls>;
      return Array.isArray(calls) ? calls.flatMap((call) => call?.scope?.key ?? []) : [];
    });
  }

  /** The outcomes whose signature is right. */
  private opened(
    stored: readonly (readonly [string, string])[],
    session: string,
  ): StoredOutcome<RemoteOutcome>[] {
    return stored.flatMap(([key, text]) => {
      const message = this.signer.open(parseMessage(text), 'outcome', session, this.serverNow);
      const outcome = checkedOutcome(contentOf(message));
      return message?.scope.key === key && outcome !== undefined ? [{ key, outcome }] : [];
    });
  }

  private async fence(session: string): Promise<void> {
    try {
      const outcomes = await this.registry.fence(session, this.epoch);
      if (outcomes === undefined) return;
      const queue = this.queue(session);
      await queue.obliterate({ force: true });
      await queue.close();
      this.queues.delete(session);
      await this.registry.clear(session);
      this.protocol.cleared(session, this.opened(outcomes, session));
      this.obey();
    } catch {
      // The protocol asks again.
    }
  }

  private changeWorker(change: 'joined' | 'draining' | 'left', { session, name }: WorkerNote): void {
    if (change === 'joined') {
      void this.announce(session);
      return;
    }
    this.tools?.engine.changeWorkers((placement) =>
      change === 'left' ? placement.leave(session) : placement.drain(session),
    );
    this.paces.delete(session);
    if (change === 'left') {
      this.offers.delete(session);
      this.ended.delete(session);
    }
    if (change === 'left') this.options.notify?.(`Worker ${name} has left.`);
    else this.options.notify?.(`Worker ${name} is finishing its calls and will leave.`);
  }

  /** Lets the engine use a worker, with what it offers. */
  private async announce(session: string): Promise<void> {
    const text = await this.registry.offer(session).catch(() => null);
    const message = this.signer.open(parseMessage(text), 'note', session, this.serverNow);
    if (message === undefined || !this.protocol.isReady(session) || this.offers.has(session)) return;
    const offer = checkedOffer(contentOf(message));
    if (offer === undefined) {
      this.ignore(session, `Worker ${nameOf(session)} gets no work: what it offers cannot be read.`);
      return;
    }
    const { capacity, labels } = offer;
    try {
      this.tools?.engine.changeWorkers((placement) => placement.join({ id: session, capacity, labels }));
    } catch (error) {
      this.ignore(session, `Worker ${nameOf(session)} gets no work: ${reasonText(error)}`);
      return;
    }
    this.offers.set(session, offer);
    this.ended.set(session, { completed: 0, failed: 0, cancelled: 0 });
    this.paces.set(session, new WorkerPace(capacity.concurrency ?? 1));
    this.options.notify?.(`Worker ${nameOf(session)} has joined.`);
  }

  private updateSpare(session: string): void {
    const pace = this.paces.get(session);
    const spare = pace?.newSpare();
    if (spare !== undefined)
      this.tools?.engine.changeWorkers((placement) => placement.setSpare(session, spare));
  }

  private settle(key: string, outcome: RemoteOutcome | undefined): void {
    const call = this.pending.get(key);
    if (call === undefined) return;
    this.pending.delete(key);
    const ended = this.ended.get(call.worker);
    const { status } = outcome ?? {};
    if (ended !== undefined && (status === 'completed' || status === 'failed' || status === 'cancelled'))
      ended[status]++;
    call.settle(outcome);
  }

  private async valueOf(
    outcome: RemoteOutcome | undefined,
    worker: string,
    task: RunnerTask,
  ): Promise<unknown> {
    if (outcome === undefined || outcome.status === 'lost') throw lost(nameOf(worker));
    if (outcome.status === 'cancelled') throw stopped();
    if (outcome.status === 'returned')
      throw new ToolFailure('The call was taken back before it began.', { reason: 'error', isLost: true });
    if (outcome.status === 'failed') throw failureOf(outcome);
    if (outcome.value === undefined) return undefined;
    return JSON.parse(await this.artifacts.receiveText(outcome.value, task));
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
      // If its connection breaks before it is ready, it never works.
      queue.waitUntilReady().catch(() => this.queues.delete(session));
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
  return { name: session, session, beat: 0, epoch: 0, held: [], waiting: [], isDraining: true, isGone: true };
}

function stopped(): ToolFailure {
  return new ToolFailure('The call was stopped.', { reason: 'error' });
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
