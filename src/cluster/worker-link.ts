import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Job, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { VolleyError } from '../core/errors.ts';
import { DEFAULT_TIMES, PROTOCOL_VERSION, type ProtocolTimes, type WorkerNote } from './protocol/messages.ts';
import { WorkerProtocol } from './protocol/worker-protocol.ts';
import { ClusterRegistry, type ClusterSettings, isRefusal, loadPackage, silentMs } from './registry.ts';
import { contentOf, type MessageScope, parseMessage, type SignedMessage, Signer } from './signature.ts';
import type { Assignment, DeliveredCalls, RemoteOutcome, RemoteProgress, WorkerOffer } from './work.ts';

/** What the link asks of the part that runs tools, which is another thread. */
export interface ToolHost {
  /** Runs attempts. Each of them is `finished` in any case. */
  start(calls: readonly StartedCall[]): void;
  stop(key: string): void;
  /** Stops an attempt if it has not begun. */
  recall(key: string): void;
  /** There is a new coordinator, or the last one is gone. */
  notify(text: string): void;
  /** The worker has left the cluster. */
  gone(): void;
}

export interface StartedCall {
  readonly key: string;
  readonly assignment: Assignment;
}

export interface FinishedCall {
  readonly key: string;
  readonly outcome: RemoteOutcome;
}

export interface WorkerLinkOptions {
  readonly settings: ClusterSettings;
  readonly name: string;
  readonly offer: WorkerOffer;
  readonly times?: ProtocolTimes;
}

/** A lock that is not renewed for this long lets BullMQ deliver the job again, and the protocol sees that. */
const LOCK_MS = 5000;
const STALLED_MS = 2500;
const GOODBYE_MS = 1000;
/** The most outcomes that are stored at once, so that the server is never busy for long. */
const MAX_TOGETHER = 64;

/**
 * A worker's connection to its cluster: carries out the commands of {@link WorkerProtocol} on Redis, takes jobs from the
 * queue of its session, and reports outcomes. It runs in a thread of its own, so that no tool can keep it from renewing
 * leases and locks.
 */
export class WorkerLink {
  private readonly protocol: WorkerProtocol<string>;
  private readonly signer: Signer;
  /** Outcomes of the session that are not stored yet, each with its attempt. */
  private outbox: [string, string][] = [];
  private isReporting = false;
  private waiting: readonly string[] = [];
  private consumer: Worker | undefined;
  /** The connections that the consumer has made for itself. */
  private blocking: Redis[] = [];
  private serverNow = 0;
  private timers: NodeJS.Timeout[] = [];
  private isClosed = false;
  /** Whether the server refused the last heartbeat. */
  private isRefused = false;

  private constructor(
    private readonly registry: ClusterRegistry,
    private readonly subscriber: Redis,
    private readonly WorkerClass: typeof Worker,
    private readonly options: WorkerLinkOptions,
    private readonly times: ProtocolTimes,
    private readonly host: ToolHost,
  ) {
    const { name, settings } = options;
    this.protocol = new WorkerProtocol(name, newSession(name), times);
    this.signer = new Signer(settings.key);
  }

  static async open(options: WorkerLinkOptions, host: ToolHost): Promise<WorkerLink> {
    const { Worker } = await loadPackage(() => import('bullmq'));
    const { times = DEFAULT_TIMES } = options;
    const registry = await ClusterRegistry.connect(options.settings, times);
    const subscriber = registry.duplicate();
    try {
      await subscriber.connect();
      await requireFree(registry, options);
      await registry.setDraining(options.name, false);
    } catch (error) {
      subscriber.disconnect();
      registry.close();
      throw error;
    }
    return new WorkerLink(registry, subscriber, Worker, options, times, host).start();
  }

  /** Records the end of attempts. */
  finished(calls: readonly FinishedCall[]): void {
    for (const { key, outcome } of calls) {
      const signed = this.signedOutcome(key, outcome);
      if (this.protocol.finished(key, signed)) this.report(key, signed);
    }
  }

  progressed(key: string, progress: RemoteProgress): void {
    const message = JSON.stringify(this.sign('progress', key, JSON.stringify(progress)));
    void this.registry.redis.publish(this.registry.inbox, message).catch(() => {});
  }

  /** Takes note of the attempts that have waited for room for some time. */
  waits(keys: readonly string[]): void {
    this.waiting = keys;
  }

  /** Finishes what it holds and leaves. */
  drain(): void {
    this.protocol.isDraining = true;
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    for (const timer of this.timers) clearTimeout(timer);
    await this.sayGoodbye();
    await Promise.race([this.endConsumer(), sleep(GOODBYE_MS)]);
    this.subscriber.disconnect();
    this.registry.close();
  }

  /** Saves the coordinator from waiting for the end of the lease. What still runs is lost. */
  private async sayGoodbye(): Promise<void> {
    if (this.protocol.isGone || this.registry.redis.status !== 'ready') return;
    this.protocol.isGone = true;
    await Promise.race([this.writeNote().catch(() => {}), sleep(GOODBYE_MS)]);
  }

  private async leave(): Promise<void> {
    if (this.isClosed) return;
    await this.close();
    this.host.gone();
  }

  private start(): this {
    this.subscriber.on('message', (_, text) => this.heard(text));
    this.join();
    this.timers[0] = setInterval(() => {
      const { isGone } = this.protocol;
      this.protocol.tick(performance.now(), newSession(this.options.name));
      this.obey();
      if (!isGone && this.protocol.isGone) void this.leave();
    }, this.times.beatMs / 4);
    void this.beat();
    return this;
  }

  /** Takes jobs from the queue of the current session, and listens to messages for it. */
  private join(): void {
    const { session } = this.protocol;
    this.outbox = [];
    this.consume();
    void this.subscriber
      .unsubscribe()
      .then(() => this.subscriber.subscribe(this.registry.channelOf(session)))
      // It is closed.
      .catch(() => {});
  }

  private consume(): void {
    const { session } = this.protocol;
    void this.endConsumer();
    const tracked = trackCopies(this.registry.redis);
    const consumer = new this.WorkerClass(session, (job: Job) => this.take(session, job), {
      connection: this.registry.redis,
      prefix: this.registry.queuePrefix,
      autorun: false,
      // A job is over when its attempts are accepted.
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_MS,
      // Whether a job may run again is decided by the protocol.
      maxStalledCount: 1_000_000,
      // The connection is not silent for longer than it may be, in seconds.
      drainDelay: silentMs(this.times.leaseMs) / 2000,
      runRetryDelay: this.times.beatMs,
    });
    this.blocking = tracked.stop();
    this.consumer = consumer;
    consumer.on('error', () => {});
    void this.untilEnd(consumer).then(() => {
      if (this.consumer === consumer && !this.isClosed) this.consume();
    });
  }

  /** A consumer whose connection breaks before it is ready never takes anything. */
  private async untilEnd(consumer: Worker): Promise<void> {
    try {
      await consumer.waitUntilReady();
      await consumer.run();
    } catch {
      await sleep(this.times.beatMs);
    }
  }

  private async endConsumer(): Promise<void> {
    const closing = this.consumer?.close(true).catch(() => {});
    for (const connection of this.blocking.splice(0)) abandon(connection);
    await closing;
  }

  private async beat(): Promise<void> {
    const { protocol, options } = this;
    const { name } = options;
    const sentAt = performance.now();
    // Otherwise nobody would notice that it is dead.
    if (this.subscriber.status === 'ready') void this.subscriber.ping().catch(() => {});
    try {
      const { session, reply } = await this.writeNote();
      this.serverNow = reply.serverNow;
      const { epoch: before, isDraining: wasDraining } = protocol;
      protocol.tick(performance.now(), newSession(name));
      protocol.renewed(session, reply, sentAt, newSession(name));
      this.isRefused = false;
      // The epoch of one that has left stays.
      if (before !== protocol.epoch && reply.hasCoordinator) void this.greet();
      if (!wasDraining && protocol.isDraining)
        this.host.notify('It was asked to drain: it finishes its calls, and leaves.');
      this.obey();
      if (protocol.isGone) {
        await this.leave();
        return;
      }
    } catch (error) {
      // The connection broke in the middle. The next heartbeat follows.
      if (isRefusal(error) && !this.isRefused) {
        this.isRefused = true;
        this.host.notify(`The Redis server refuses heartbeats: ${error.message}`);
      }
    }
    const pauseMs = protocol.isDraining ? this.times.beatMs / 4 : this.times.beatMs;
    if (!this.isClosed) this.timers[1] = setTimeout(() => void this.beat(), pauseMs);
  }

  /** There is a new coordinator. */
  private async greet(): Promise<void> {
    const version = await this.registry.coordinatorProtocol().catch(() => undefined);
    this.host.notify(
      version === undefined || version === PROTOCOL_VERSION
        ? 'A coordinator has connected.'
        : `A coordinator has connected, but it speaks version ${version} of the cluster protocol, and this worker version ${PROTOCOL_VERSION}. It gets no work until both run the same version of Volley.`,
    );
  }

  private async writeNote() {
    const { name, offer } = this.options;
    const note = this.protocol.nextNote(this.waiting, performance.now());
    const { session, epoch } = note;
    const [signedNote, signedOffer] = [{ ...note, protocol: PROTOCOL_VERSION }, offer].map((content) =>
      JSON.stringify(this.sign('note', '', JSON.stringify(content))),
    );
    const reply = await this.registry.beat({ session, name, epoch }, signedNote!, signedOffer!);
    return { session, reply };
  }

  private heard(text: string): void {
    const { session } = this.protocol;
    const message = parseMessage(text);
    const cancel = this.signer.open(message, 'cancel', session, this.serverNow);
    if (cancel !== undefined) {
      this.protocol.cancel(session, cancel.scope.key);
      this.obey();
      return;
    }
    const recall = this.signer.open(message, 'recall', session, this.serverNow);
    if (recall !== undefined) this.host.recall(recall.scope.key);
    else this.accept(session, [message]);
  }

  private async take(session: string, job: Job): Promise<void> {
    const { calls } = (job.data ?? {}) as Partial<DeliveredCalls>;
    if (Array.isArray(calls)) this.accept(session, calls);
  }

  /** Accepts attempts that come in a job, or directly, or both. */
  private accept(session: string, calls: readonly unknown[]): void {
    this.protocol.tick(performance.now(), newSession(this.options.name));
    const started = calls.flatMap((call) => this.started(session, call));
    this.obey();
    if (started.length > 0) this.host.start(started);
  }

  /** Returns the attempt if it must run. */
  private started(session: string, call: unknown): StartedCall[] {
    const message = this.signer.open(call, 'assignment', session, this.serverNow);
    const assignment = contentOf<Assignment>(message);
    if (message === undefined || assignment === undefined) return [];
    const { key, epoch } = message.scope;
    const delivery = this.protocol.delivered(session, key, epoch);
    if (delivery.type === 'start') return [{ key, assignment: assignment as Assignment }];
    if (delivery.type === 'answer') this.report(key, delivery.outcome);
    else if (delivery.type === 'refuse' && delivery.why !== 'stale-epoch')
      this.report(
        key,
        this.signedOutcome(key, { status: delivery.why === 'cancelled' ? 'cancelled' : 'lost' }),
      );
    return [];
  }

  /** Outcomes that come while others are being stored are stored together. */
  private report(key: string, outcome: string): void {
    this.outbox.push([key, outcome]);
    if (this.isReporting) return;
    this.isReporting = true;
    queueMicrotask(() => void this.flush());
  }

  private async flush(): Promise<void> {
    while (this.outbox.length > 0 && !this.isClosed) {
      const { session } = this.protocol;
      const group = this.outbox.splice(0, MAX_TOGETHER);
      try {
        // If the session was given up, the next heartbeat says so.
        if (await this.registry.report(session, group))
          for (const [key] of group) this.protocol.reported(session, key);
      } catch {
        // The server refused them, for example because its memory is full. The session may have changed meanwhile.
        if (session === this.protocol.session) this.outbox.unshift(...group);
        await sleep(this.times.beatMs);
      }
    }
    this.isReporting = false;
  }

  private obey(): void {
    for (const command of this.protocol.takeCommands()) {
      if (command.type === 'stop') {
        this.host.stop(command.key);
      } else {
        this.host.notify(
          'The connection was lost for too long. Running calls are stopped, and the worker joins again.',
        );
        this.join();
      }
    }
  }

  private signedOutcome(key: string, outcome: RemoteOutcome): string {
    return JSON.stringify(this.sign('outcome', key, JSON.stringify(outcome)));
  }

  private sign(kind: MessageScope['kind'], key: string, content: string): SignedMessage {
    const { session, epoch } = this.protocol;
    return this.signer.sign({ kind, session, key, epoch, expiresAt: 0 }, content);
  }
}

/** Throws if a worker with the same name is at work. */
async function requireFree(
  registry: ClusterRegistry,
  { name, times, settings }: WorkerLinkOptions,
): Promise<void> {
  const signer = new Signer(settings.key);
  const { leaseMs } = times ?? DEFAULT_TIMES;
  for (const { session, note, ageMs } of await registry.list()) {
    const message = ageMs > leaseMs ? undefined : signer.open(parseMessage(note), 'note', session, 0);
    if (message === undefined) continue;
    const other = contentOf<WorkerNote>(message);
    if (other?.name === name && !other.isGone)
      throw new VolleyError(
        'CLUSTER_NAME_TAKEN',
        `A worker named ${name} is already running. Choose another name.`,
        {
          name,
        },
      );
  }
}

/** Random, so that nobody can predict the session that messages must name. */
function newSession(name: string): string {
  return `${name}.${randomBytes(9).toString('hex')}`;
}

/** Notes the copies that are made of a connection until `stop`. */
function trackCopies(redis: Redis): { stop(): Redis[] } {
  const copies: Redis[] = [];
  const { duplicate } = redis;
  redis.duplicate = (options) => {
    const copy = duplicate.call(redis, options);
    copies.push(copy);
    return copy;
  };
  return {
    stop: () => {
      redis.duplicate = duplicate;
      return copies;
    },
  };
}

/** Ends a connection for good. BullMQ may connect again after it was closed, if it was just about to. */
function abandon(connection: Redis): void {
  connection.on('error', () => {});
  connection.options.retryStrategy = () => null;
  connection.connect = () => Promise.reject(new Error('The session is over.'));
  connection.disconnect();
}
