import { CoordinatorProtocol } from '../../../src/cluster/protocol/coordinator-protocol.ts';
import type {
  BeatReply,
  ProtocolTimes,
  StoredOutcome,
  WorkerNote,
} from '../../../src/cluster/protocol/messages.ts';
import { WorkerProtocol } from '../../../src/cluster/protocol/worker-protocol.ts';
import { type Random, seededRandom } from '../../../src/core/random.ts';

/**
 * A whole cluster in one thread and on virtual time: coordinators, workers, and a server with queues, a registry and
 * messages. A seed decides about its size, latencies, lost and doubled messages, interrupted connections, pauses,
 * crashes, a server that forgets its last second, and coordinators that take over. A lease in a store says which coordinator
 * may run the tasks, as with several servers: it changes hands while the old holder is stopped, or works on because only the
 * store is out of its reach. Safety is checked at every step. Then
 * all faults end, and everything must settle. Some seeds are calm: workers only drain, and then nothing may be lost.
 */

export type Outcome =
  | { readonly kind: 'completed'; readonly key: string; readonly run: number }
  | { readonly kind: 'cancelled' }
  /** It was taken back before it began. */
  | { readonly kind: 'returned' };

/** The two machines. A test replaces one by a broken one. */
export interface Machines {
  readonly coordinator: typeof CoordinatorProtocol<Outcome>;
  readonly worker: typeof WorkerProtocol<Outcome>;
  /** Whether the store refuses what a coordinator writes that has lost its lease: also that a task starts. */
  readonly storeFences: boolean;
}

export const MACHINES: Machines = {
  coordinator: CoordinatorProtocol,
  worker: WorkerProtocol,
  storeFences: true,
};

export interface SimulationReport {
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  /** How often attempts ran again, over all workers. */
  readonly repeated: number;
  readonly faults: number;
}

class Violation extends Error {}

const TIMES: ProtocolTimes = { beatMs: 1000, leaseMs: 5000, forgottenMs: 1000, inspectMs: 2000 };
/** How long a taken job may stay unacknowledged before the queue delivers it again. */
const LOCK_MS = 3000;
const MAX_FAULTS_MS = 40_000;
const SETTLE_MS = 120_000;
/** How often a worker looks for jobs that it got no wake-up for. */
const TAKE_MS = 500;
/** How many attempts a worker runs at once. */
const SLOTS = 2;
/** How many attempts may wait on a worker. */
const SPARE = 2;
/** A worker names attempts that have waited longer. */
const WAITING_MS = 1000;

/** Attempts that travel together. */
interface SimulatedJob {
  readonly epoch: number;
  readonly keys: readonly string[];
  state: 'waiting' | 'active';
  activeAt: number;
}

interface ServerState {
  epoch: number;
  holder: string;
  holderUntil: number;
  isReleased: boolean;
  /** The store lease of the last coordinator. */
  turn: number;
  /** By session, with the time it was written. */
  notes: Map<string, { note: WorkerNote; at: number }>;
  fenced: Set<string>;
  queues: Map<string, Map<string, SimulatedJob>>;
  outcomes: Map<string, Map<string, Outcome>>;
}

/** A process that can be cut off, stopped and killed. */
interface Party {
  generation: number;
  isCut: boolean;
  pausedUntil: number;
  /** How many crashes of the server it has noticed, by a new connection. */
  crashesSeen: number;
  reconnected?: () => void;
}

interface TaskState {
  readonly id: string;
  readonly isIdempotent: boolean;
  /** No two tasks with the same lock may run at once, on any worker. A task without one has its own. */
  readonly lock: string;
  readonly durationMs: number;
  /** Runs until it is cancelled. */
  readonly isEndless: boolean;
  status: 'open' | 'running' | 'completed' | 'failed' | 'cancelled';
  key: string | undefined;
  attempts: number;
  wantsCancel: boolean;
  runs: number;
}

interface Run {
  readonly key: string;
  readonly task: TaskState;
  readonly number: number;
  isStopping: boolean;
}

export class ClusterSimulation {
  now = 0;
  readonly random: Random;
  private readonly agenda: { at: number; order: number; what: () => void }[] = [];
  private order = 0;
  private readonly server: ServerState = {
    epoch: 0,
    holder: '',
    holderUntil: 0,
    isReleased: true,
    turn: 0,
    notes: new Map(),
    fenced: new Set(),
    queues: new Map(),
    outcomes: new Map(),
  };
  private serverDownUntil = 0;
  crashes = 0;
  /** The store: what survives a coordinator. Only the newest lease may write. */
  private readonly tasks: TaskState[] = [];
  private storeEpoch = 0;
  private storeHolder: SimulatedCoordinator | undefined;
  private readonly workers: SimulatedWorker[] = [];
  private readonly coordinators: SimulatedCoordinator[] = [];
  private readonly begun = new Set<string>();
  runs = 0;
  private faults = 0;
  private readonly lossRate: number;
  private readonly breakRate: number;
  private readonly isCalm: boolean;
  private readonly faultsEndAt: number;

  constructor(
    readonly seed: number,
    readonly machines: Machines = MACHINES,
  ) {
    this.random = seededRandom(seed);
    this.isCalm = this.random() < 0.1;
    this.faultsEndAt = MAX_FAULTS_MS * (0.25 + 0.75 * this.random());
    const dropsAll = this.random() < 0.2;
    this.lossRate = dropsAll ? 1 : this.random() * 0.3;
    this.breakRate = this.random() * 0.05;
    const tasks = 8 + Math.floor(this.random() * 23);
    const workers = 1 + Math.floor(this.random() * 4);
    for (let index = 0; index < tasks; index++) this.tasks.push(this.newTask(index));
    for (let index = 0; index < workers; index++)
      this.workers.push(new SimulatedWorker(this, `w${index}`, SLOTS));
    this.coordinators.push(new SimulatedCoordinator(this, 'c0'));
  }

  get isHealed(): boolean {
    return this.now >= this.faultsEndAt;
  }

  run(): SimulationReport {
    try {
      this.every(500, () => this.injectFault());
      this.after(this.faultsEndAt, () => this.heal());
      for (const worker of this.workers) worker.start();
      for (const coordinator of this.coordinators) coordinator.start();
      while (!this.isSettled()) {
        const next = this.agenda.pop();
        if (next === undefined || next.at > this.faultsEndAt + SETTLE_MS)
          throw new Violation(`not settled: ${this.describe()}`);
        this.now = next.at;
        next.what();
      }
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      throw new Error(`Seed ${this.seed}, at ${this.now} ms: ${error.message}`);
    }
    const count = (status: TaskState['status']) => this.tasks.filter((task) => task.status === status).length;
    return {
      completed: count('completed'),
      failed: count('failed'),
      cancelled: count('cancelled'),
      repeated: this.tasks.reduce((sum, { runs }) => sum + Math.max(0, runs - 1), 0),
      faults: this.faults,
    };
  }

  after(delayMs: number, what: () => void): void {
    const entry = { at: this.now + delayMs, order: this.order++, what };
    let low = 0;
    let high = this.agenda.length;
    // Descending, so that the next is the last.
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.agenda[middle]!;
      if (other.at > entry.at || (other.at === entry.at && other.order > entry.order)) low = middle + 1;
      else high = middle;
    }
    this.agenda.splice(low, 0, entry);
  }

  every(periodMs: number, what: () => void): void {
    this.after(periodMs, () => {
      what();
      this.every(periodMs, what);
    });
  }

  latency(): number {
    return this.random() < 0.05 ? this.random() * 400 : 1 + this.random() * 10;
  }

  /**
   * Runs a command on the server and passes the reply back. A command that could not be sent is repeated. So is one whose
   * reply was lost, so it may run twice. Replies to a process that was restarted go nowhere.
   */
  ask<T>(party: Party, command: (server: ServerState) => T, reply: (value: T) => void): void {
    const { generation } = party;
    const send = () => {
      if (party.generation !== generation) return;
      if (party.isCut || this.now < this.serverDownUntil || this.now < party.pausedUntil) {
        this.after(50 + this.random() * 200, send);
        return;
      }
      const value = command(this.server);
      if (!this.isHealed && this.random() < this.breakRate) {
        this.after(50 + this.random() * 500, send);
        return;
      }
      const { crashes } = this;
      this.deliver(party, generation, () => {
        if (crashes > party.crashesSeen) {
          party.crashesSeen = crashes;
          party.reconnected?.();
        }
        reply(value);
      });
    };
    this.after(this.latency(), send);
  }

  /** Sends a message that may be lost, doubled and late. */
  publish(from: Party, to: () => Party | undefined, what: () => void, lossRate = this.lossRate): void {
    if (from.isCut || this.now < this.serverDownUntil) return;
    const copies = this.random() < lossRate ? 0 : this.random() < 0.1 ? 2 : 1;
    for (let copy = 0; copy < copies; copy++)
      this.after(this.latency(), () => {
        const party = to();
        if (party === undefined || party.isCut) return;
        this.deliver(party, party.generation, what);
      });
  }

  private deliver(party: Party, generation: number, what: () => void): void {
    this.after(this.latency(), () => {
      if (party.generation !== generation) return;
      // A process that was stopped handles what has arrived after it has looked at the clock.
      if (this.now < party.pausedUntil)
        this.after(party.pausedUntil - this.now + 1, () => {
          if (party.generation === generation) what();
        });
      else what();
    });
  }

  // What the processes share.

  toCoordinator(from: Party, what: (coordinator: SimulatedCoordinator) => void): void {
    const { epoch } = this.server;
    const find = () => this.coordinators.find((coordinator) => coordinator.epoch === epoch);
    this.publish(
      from,
      () => find()?.party,
      () => {
        const coordinator = find();
        if (coordinator !== undefined) what(coordinator);
      },
    );
  }

  toWorker(from: Party, session: string, what: (worker: SimulatedWorker) => void): void {
    const worker = this.workerOf(session);
    // Requests are repeated, so that one of them arrives. Results need not arrive at all.
    const lossRate = Math.min(0.5, this.lossRate);
    this.publish(
      from,
      () => worker.party,
      () => what(worker),
      lossRate,
    );
  }

  private workerOf(session: string): SimulatedWorker {
    return this.workers.find(({ name }) => session.startsWith(`${name}-`))!;
  }

  taskOf(key: string): TaskState | undefined {
    return this.tasks.find((task) => key.startsWith(`${task.id}.`));
  }

  /** Takes the lease of the store, and recovers the tasks of the last holder. Undefined while another one has it. */
  claimStore(by: SimulatedCoordinator): number | undefined {
    if (this.storeHolder !== undefined && this.storeHolder !== by) return undefined;
    this.storeHolder = by;
    this.storeEpoch++;
    for (const task of this.tasks) {
      if (task.status !== 'running') continue;
      task.key = undefined;
      task.status = task.wantsCancel ? 'cancelled' : task.isIdempotent ? 'open' : 'failed';
    }
    return this.storeEpoch;
  }

  leaveStore(by: SimulatedCoordinator): void {
    if (this.storeHolder === by) this.storeHolder = undefined;
  }

  hasLostStore(epoch: number): boolean {
    return epoch < this.storeEpoch;
  }

  /** The next task that is open and whose lock is free, as the scheduler of the coordinator sees it. */
  nextOpen(epoch: number): TaskState | undefined {
    if (epoch !== this.storeEpoch && this.machines.storeFences) return undefined;
    const taken = new Set<string>();
    for (const { status, lock } of this.tasks) if (status === 'running') taken.add(lock);
    return this.tasks.find(({ status, lock }) => status === 'open' && !taken.has(lock));
  }

  /** A job has come into the queue of a session: its worker waits for that. */
  wake(session: string): void {
    const worker = this.workerOf(session);
    this.after(this.latency(), () => worker.takeJob());
  }

  record(storeEpoch: number, epoch: number, key: string, outcome: Outcome | undefined): void {
    if (storeEpoch !== this.storeEpoch && this.machines.storeFences) return;
    const task = this.taskOf(key)!;
    if (task.key !== key)
      throw new Violation(`${key} ended, but ${task.id} is ${task.status} with ${task.key}`);
    if (outcome?.kind === 'completed' && (outcome.key !== key || !this.begun.has(key)))
      throw new Violation(`${key} got the result of ${outcome.key}`);
    if (outcome?.kind === 'returned' && this.begun.has(key))
      throw new Violation(`${key} was given back, but it ran`);
    // A coordinator that was deposed must not look.
    if (outcome === undefined && epoch === this.server.epoch && this.isStored(key))
      throw new Violation(`${key} was lost, but its outcome is stored`);
    if (outcome === undefined && this.isCalm) throw new Violation(`${key} was lost, but nothing crashed`);
    task.key = undefined;
    if (outcome?.kind === 'returned' && !task.wantsCancel) task.status = 'open';
    else if (outcome?.kind === 'completed') task.status = 'completed';
    else if (task.wantsCancel) task.status = 'cancelled';
    else if (outcome?.kind === 'cancelled') throw new Violation(`${key} was cancelled, but nobody asked`);
    else task.status = task.isIdempotent ? 'open' : 'failed';
  }

  began(worker: SimulatedWorker, key: string): Run {
    const task = this.taskOf(key)!;
    if (this.begun.has(key)) throw new Violation(`${key} ran twice`);
    this.begun.add(key);
    this.runs++;
    task.runs++;
    if (!task.isIdempotent && task.runs > 1)
      throw new Violation(`${task.id} ran twice but is not idempotent`);
    const run = { key, task, number: this.runs, isStopping: false };
    worker.running.set(key, run);
    if (worker.running.size > worker.capacity) throw new Violation(`${worker.name} runs more than it can`);
    this.checkExclusive();
    return run;
  }

  private isStored(key: string): boolean {
    for (const stored of this.server.outcomes.values()) if (stored.has(key)) return true;
    return false;
  }

  /** No two attempts that go on may have the same lock, wherever they run. */
  checkExclusive(): void {
    const holders = new Map<string, string>();
    for (const { name, party, running } of this.workers) {
      if (this.now < party.pausedUntil) continue;
      for (const { key, task, isStopping } of running.values()) {
        if (isStopping) continue;
        const other = holders.get(task.lock);
        if (other !== undefined) throw new Violation(`${key} runs on ${name} while ${other} runs`);
        holders.set(task.lock, key);
      }
    }
  }

  private newTask(index: number): TaskState {
    const isIdempotent = this.random() < 0.6;
    const durationMs = this.random() < 0.1 ? 8000 * this.random() : 1500 * this.random();
    const fresh = { status: 'open', key: undefined, attempts: 0, wantsCancel: false, runs: 0 } as const;
    const isEndless = index % 15 === 7;
    const id = `t${index}`;
    const lock = this.random() < 0.2 ? 'shared' : id;
    return { id, isIdempotent, lock, durationMs: isEndless ? 1e9 : durationMs, isEndless, ...fresh };
  }

  private isSettled(): boolean {
    if (!this.isHealed || this.tasks.some(({ status }) => status === 'open' || status === 'running'))
      return false;
    for (const queue of this.server.queues.values()) if (queue.size > 0) return false;
    for (const outcomes of this.server.outcomes.values()) if (outcomes.size > 0) return false;
    return this.workers.every(({ running }) => running.size === 0);
  }

  private injectFault(): void {
    if (this.isHealed) return;
    const pick = <T>(items: readonly T[]): T => items[Math.floor(this.random() * items.length)]!;
    const dice = this.random();
    if (dice > 0.4) return;
    this.faults++;
    if (this.isCalm) {
      pick(this.workers).drainAndReturn();
      return;
    }
    const party = pick([...this.workers, ...this.coordinators.slice(-2)]).party;
    if (dice < 0.06) {
      party.isCut = true;
      this.after(this.random() * 9000, () => {
        party.isCut = false;
      });
    } else if (dice < 0.12) this.pause(party, this.random() * 9000);
    else if (dice < 0.18) pick(this.workers).crash();
    else if (dice < 0.22) this.coordinators.at(-1)!.crash();
    else if (dice < 0.25 && this.coordinators.length < 4) {
      // The old one wakes up later, and does not know; or it cannot reach the store, and goes on with the workers.
      const old = this.coordinators.at(-1)!;
      if (this.random() < 0.5) this.pause(old.party, TIMES.leaseMs * (1 + this.random()));
      this.storeHolder = undefined;
      const next = new SimulatedCoordinator(this, `c${this.coordinators.length}`);
      this.coordinators.push(next);
      next.start();
    } else if (dice < 0.3) this.crashServer();
    else if (dice < 0.38) this.coordinators.at(-1)!.cancelSome();
    else pick(this.workers).drainAndReturn();
  }

  private pause(party: Party, durationMs: number): void {
    party.pausedUntil = Math.max(party.pausedUntil, this.now + durationMs);
  }

  /** The server goes down. Some crashes lose what it wrote in its last moments. */
  private crashServer(): void {
    const down = () => {
      this.crashes++;
      this.serverDownUntil = this.isHealed ? 0 : this.now + this.random() * 4000;
    };
    if (this.random() < 0.3) {
      down();
      return;
    }
    const remembered = structuredClone(this.server);
    this.after(this.random() * TIMES.forgottenMs, () => {
      if (this.isHealed) return;
      Object.assign(this.server, remembered);
      down();
    });
  }

  private heal(): void {
    this.serverDownUntil = 0;
    for (const { party } of [...this.workers, ...this.coordinators]) party.isCut = false;
    for (const worker of this.workers) worker.ensureStarted();
    this.coordinators.at(-1)!.ensureStarted();
  }

  private describe(): string {
    const open = this.tasks.filter(({ status }) => status === 'open' || status === 'running');
    const jobs = Array.from(this.server.queues, ([session, queue]) => `${session}:${[...queue.keys()]}`);
    const held = this.workers.map(({ name, running }) => `${name}:${[...running.keys()]}`);
    return `${open.map(({ id, status, key }) => `${id} ${status} ${key}`).join(', ')}; queues ${jobs}; held ${held}`;
  }
}

class SimulatedWorker {
  readonly party: Party = { generation: 0, isCut: false, pausedUntil: 0, crashesSeen: 0 };
  readonly running = new Map<string, Run>();
  private machine!: WorkerProtocol<Outcome>;
  private isUp = false;
  private sessions = 0;
  private isTaking = false;
  /** The attempts that wait for room, with the time they were accepted. */
  private readonly waiting = new Map<string, { readonly session: string; readonly since: number }>();
  /** Outcomes that are stored together, by session. */
  private outbox = new Map<string, StoredOutcome<Outcome>[]>();

  constructor(
    private readonly world: ClusterSimulation,
    readonly name: string,
    readonly capacity: number,
  ) {}

  start(): void {
    this.isUp = true;
    this.machine = new this.world.machines.worker(this.name, this.newSession(), TIMES);
    const { generation } = this.party;
    this.loop(generation, 100, () => this.tick());
    this.loop(generation, TAKE_MS, () => this.takeJob());
    this.sendBeat();
  }

  /** Its work ends with it. */
  crash(): void {
    if (!this.isUp) return;
    this.isUp = false;
    this.party.generation++;
    this.running.clear();
    this.isTaking = false;
    this.waiting.clear();
    this.outbox = new Map();
    this.world.after(this.world.random() * 6000, () => this.ensureStarted());
  }

  ensureStarted(): void {
    if (!this.isUp) this.start();
  }

  /** Finishes what it has and stops; then it is started again. */
  drainAndReturn(): void {
    if (this.isUp) this.machine.isDraining = true;
  }

  cancel(session: string, key: string): void {
    if (!this.isUp) return;
    this.machine.cancel(session, key);
    this.obey();
  }

  private newSession(): string {
    return `${this.name}-s${++this.sessions}`;
  }

  private loop(generation: number, periodMs: number, what: () => void): void {
    this.world.after(periodMs, () => {
      if (this.party.generation !== generation) return;
      const { pausedUntil } = this.party;
      if (this.world.now < pausedUntil) {
        this.world.after(pausedUntil - this.world.now, () => {
          if (this.party.generation !== generation) return;
          this.tick();
          this.loop(generation, periodMs, what);
        });
        return;
      }
      what();
      this.loop(generation, periodMs, what);
    });
  }

  private tick(): void {
    this.machine.tick(this.world.now, this.newSession());
    this.obey();
    this.world.checkExclusive();
  }

  private sendBeat(): void {
    const { machine, world, party } = this;
    const isLong = ([, { since }]: [string, { since: number }]) => since + WAITING_MS < world.now;
    const note = machine.nextNote(
      [...this.waiting].filter(isLong).map(([key]) => key),
      world.now,
    );
    const sentAt = world.now;
    const { generation } = party;
    world.ask(
      party,
      (server): BeatReply => {
        const isFenced = server.fenced.has(note.session);
        // The server has forgotten a coordinator that this worker knows.
        if (note.epoch > server.epoch)
          Object.assign(server, { epoch: note.epoch, holder: '', holderUntil: 0 });
        if (!isFenced) server.notes.set(note.session, { note, at: world.now });
        const hasCoordinator = server.holderUntil > world.now;
        return { epoch: server.epoch, isFenced, isDraining: false, hasCoordinator };
      },
      (reply) => {
        machine.tick(world.now, this.newSession());
        machine.renewed(note.session, reply, sentAt, this.newSession());
        this.obey();
        if (machine.isGone) {
          this.crash();
          return;
        }
        world.after(TIMES.beatMs, () => {
          if (party.generation === generation) this.sendBeat();
        });
      },
    );
  }

  /** Takes a job, accepts its attempts, and only then takes it out of the queue. */
  takeJob(): void {
    if (!this.isUp || this.isTaking || this.world.now < this.party.pausedUntil) return;
    const { machine, world, party } = this;
    const { session } = machine;
    if (machine.isGone) return;
    this.isTaking = true;
    world.ask(
      party,
      (server) => {
        for (const [id, job] of server.queues.get(session) ?? []) {
          const isStalled = job.state === 'active' && job.activeAt + LOCK_MS < world.now;
          if (job.state !== 'waiting' && !isStalled) continue;
          job.state = 'active';
          job.activeAt = world.now;
          return { id, keys: job.keys, epoch: job.epoch };
        }
        return undefined;
      },
      (job) => {
        this.isTaking = false;
        machine.tick(world.now, this.newSession());
        this.obey();
        if (job === undefined) return;
        for (const key of job.keys) this.deliver(session, key, job.epoch);
        world.ask(
          party,
          (server) => server.queues.get(session)?.delete(job.id),
          () => {},
        );
        this.takeJob();
      },
    );
  }

  /** Accepts an attempt that did not wait for the queue. */
  takeDirectly(session: string, key: string, epoch: number): void {
    if (!this.isUp) return;
    this.tick();
    this.deliver(session, key, epoch);
  }

  private deliver(session: string, key: string, epoch: number): void {
    const { machine, world } = this;
    const delivery = machine.delivered(session, key, epoch);
    this.obey();
    switch (delivery.type) {
      case 'start':
        this.waiting.set(key, { session, since: world.now });
        this.startNext();
        return;
      case 'join':
        return;
      case 'answer':
        this.report(session, key, delivery.outcome);
        return;
      case 'refuse':
        if (delivery.why === 'cancelled') this.report(session, key, { kind: 'cancelled' });
    }
  }

  /** Starts what waits while there is room. */
  private startNext(): void {
    for (const [key, { session }] of this.waiting) {
      if (this.running.size >= this.capacity) return;
      this.waiting.delete(key);
      const run = this.world.began(this, key);
      this.finishLater(this.party.generation, run, run.task.durationMs, session);
    }
  }

  /** Gives back an attempt that has not begun. */
  recall(key: string): void {
    const session = this.waiting.get(key)?.session;
    if (!this.isUp || session === undefined) return;
    this.waiting.delete(key);
    const outcome: Outcome = { kind: 'returned' };
    if (this.machine.finished(key, outcome)) this.report(session, key, outcome);
  }

  private finishLater(generation: number, run: Run, delayMs: number, session: string): void {
    const { world, party } = this;
    world.after(delayMs, () => {
      if (party.generation !== generation || this.running.get(run.key) !== run) return;
      if (world.now < party.pausedUntil) {
        this.finishLater(generation, run, party.pausedUntil - world.now + 1, session);
        return;
      }
      this.running.delete(run.key);
      const outcome: Outcome = run.isStopping
        ? { kind: 'cancelled' }
        : { kind: 'completed', key: run.key, run: run.number };
      if (this.machine.finished(run.key, outcome)) this.report(session, run.key, outcome);
      this.startNext();
    });
  }

  /** Outcomes of about the same time are stored together. */
  private report(session: string, key: string, outcome: Outcome): void {
    const { world, party, outbox } = this;
    const waiting = outbox.get(session);
    if (waiting !== undefined) {
      waiting.push({ key, outcome });
      return;
    }
    outbox.set(session, [{ key, outcome }]);
    const { generation } = party;
    world.after(world.random() * 20, () => {
      if (party.generation === generation) this.flush(session);
    });
  }

  private flush(session: string): void {
    const { world, party } = this;
    const group = this.outbox.get(session)!;
    this.outbox.delete(session);
    world.ask(
      party,
      (server) => {
        if (server.fenced.has(session)) return false;
        const stored = server.outcomes.get(session) ?? new Map<string, Outcome>();
        server.outcomes.set(session, stored);
        for (const { key, outcome } of group) stored.set(key, outcome);
        return true;
      },
      (isStored) => {
        if (!isStored) return;
        for (const { key } of group) this.machine.reported(session, key);
        world.toCoordinator(party, (coordinator) => coordinator.received(session, group));
      },
    );
  }

  private obey(): void {
    for (const command of this.machine.takeCommands()) {
      if (command.type === 'rejoin') continue;
      this.recall(command.key);
      const run = this.running.get(command.key);
      if (run === undefined || run.isStopping) continue;
      run.isStopping = true;
      const { session } = this.machine;
      const { generation } = this.party;
      this.finishLater(generation, run, this.world.random() * 300, session);
    }
  }
}

class SimulatedCoordinator {
  readonly party: Party = {
    generation: 0,
    isCut: false,
    pausedUntil: 0,
    crashesSeen: 0,
    reconnected: () => this.machine?.reconnected(),
  };
  private machine: CoordinatorProtocol<Outcome> | undefined;
  private isUp = false;
  /** The session of each attempt that has not ended. */
  private readonly assigned = new Map<string, string>();
  private readonly outbox = new Map<string, string[]>();
  private deliveries = 0;
  private lives = 0;
  private storeEpoch = 0;

  constructor(
    private readonly world: ClusterSimulation,
    readonly name: string,
  ) {}

  start(): void {
    this.isUp = true;
    this.party.crashesSeen = this.world.crashes;
    this.claim(`${this.name}.${++this.lives}`);
  }

  /** The store is needed first: it says whose turn it is. */
  private claim(life: string): void {
    const { world, party } = this;
    const { generation } = party;
    const epoch = world.claimStore(this);
    if (epoch !== undefined) {
      this.storeEpoch = epoch;
      this.acquire(life);
    } else
      world.after(500, () => {
        if (party.generation === generation) this.claim(life);
      });
  }

  ensureStarted(): void {
    if (!this.isUp) this.start();
  }

  crash(): void {
    if (!this.isUp) return;
    this.isUp = false;
    this.machine = undefined;
    this.party.generation++;
    this.world.leaveStore(this);
    this.world.after(this.world.random() * 5000, () => this.ensureStarted());
  }

  received(session: string, group: readonly StoredOutcome<Outcome>[]): void {
    for (const { key, outcome } of group) this.machine?.received(session, key, outcome);
    this.obey();
  }

  get epoch(): number {
    return this.machine?.epoch ?? 0;
  }

  cancelSome(): void {
    const { machine, world } = this;
    if (machine === undefined || world.now < this.party.pausedUntil) return;
    const key = [...this.assigned.keys()][0];
    if (key === undefined) return;
    world.taskOf(key)!.wantsCancel = true;
    machine.cancel(key);
    this.obey();
  }

  private acquire(life: string): void {
    const { world, party } = this;
    const { generation } = party;
    world.ask(
      party,
      (server) => {
        if (server.holder === life) return server.epoch;
        // Whoever has had the store since then need not wait for the lease.
        if (server.turn > this.storeEpoch) return 0;
        server.turn = this.storeEpoch;
        server.epoch = Math.max(server.epoch + 1, Math.ceil(world.now));
        server.holder = life;
        server.holderUntil = world.now + TIMES.leaseMs;
        return server.epoch;
      },
      (epoch) => {
        if (epoch === 0) {
          world.after(500, () => {
            if (party.generation !== generation) return;
            if (world.hasLostStore(this.storeEpoch)) this.crash();
            else this.acquire(life);
          });
          return;
        }
        this.assigned.clear();
        this.outbox.clear();
        this.machine = new world.machines.coordinator(epoch, TIMES, world.now);
        this.poll(life);
      },
    );
  }

  private poll(life: string, polls = 0): void {
    const { world, party } = this;
    const { generation } = party;
    const machine = this.machine!;
    world.ask(
      party,
      (server) => {
        if (machine.epoch > server.epoch) Object.assign(server, { epoch: machine.epoch, holder: life });
        if (server.holder === life) server.holderUntil = world.now + TIMES.leaseMs;
        const notes = Array.from(server.notes.values(), ({ note, at }) => ({ note, ageMs: world.now - at }));
        // The first look, and then some, also find queues without a worker.
        if (polls % 20 === 0) {
          for (const session of new Set([...server.queues.keys(), ...server.outcomes.keys()]))
            if (!server.notes.has(session)) notes.push({ note: goneNote(session), ageMs: 0 });
        }
        return { notes, epoch: server.epoch };
      },
      ({ notes, epoch }) => {
        machine.observed(notes, epoch, world.now);
        this.obey();
        if (this.machine !== machine) return;
        if (world.hasLostStore(this.storeEpoch)) {
          this.crash();
          return;
        }
        this.dispatch();
        world.after(TIMES.beatMs, () => {
          if (party.generation === generation && this.machine === machine) this.poll(life, polls + 1);
        });
      },
    );
  }

  private dispatch(): void {
    const { machine, world } = this;
    if (machine === undefined) return;
    for (const { session } of machine.workers) {
      if (!machine.isReady(session)) continue;
      while (this.countOn(session) < SLOTS + SPARE) {
        const task = world.nextOpen(this.storeEpoch);
        if (task === undefined) return;
        task.attempts++;
        task.status = 'running';
        const key = `${task.id}.${task.attempts}.${machine.epoch}`;
        task.key = key;
        this.assigned.set(key, session);
        machine.assign(key, session);
        if (task.isEndless) this.cancelLater(key);
        this.obey();
      }
    }
  }

  private cancelLater(key: string): void {
    const { machine, world } = this;
    world.after(world.random() * 3000, () => {
      if (this.machine !== machine || !this.assigned.has(key)) return;
      world.taskOf(key)!.wantsCancel = true;
      machine?.cancel(key);
      this.obey();
    });
  }

  private countOn(session: string): number {
    return [...this.assigned.values()].filter((other) => other === session).length;
  }

  private obey(): void {
    const { machine, world, party } = this;
    if (machine === undefined) return;
    for (const command of machine.takeCommands()) {
      switch (command.type) {
        case 'enqueue':
          this.enqueue(machine, command.session, command.key);
          break;
        case 'cancel':
          world.toWorker(party, command.session, (worker) => worker.cancel(command.session, command.key));
          break;
        case 'recall':
          world.toWorker(party, command.session, (worker) => worker.recall(command.key));
          break;
        case 'forget':
          world.ask(
            party,
            (server) => {
              for (const key of command.keys) server.outcomes.get(command.session)?.delete(key);
            },
            () => {},
          );
          break;
        case 'inspect':
          this.inspect(command.session);
          break;
        case 'fence':
          world.ask(
            party,
            (server) => {
              if (server.epoch > machine.epoch) return undefined;
              server.fenced.add(command.session);
              const outcomes = outcomesOf(server, command.session);
              server.queues.delete(command.session);
              server.outcomes.delete(command.session);
              server.notes.delete(command.session);
              return outcomes;
            },
            (outcomes) => {
              if (outcomes === undefined) return;
              this.machine?.cleared(command.session, outcomes);
              this.obey();
            },
          );
          break;
        case 'ended':
          this.assigned.delete(command.key);
          world.record(this.storeEpoch, machine.epoch, command.key, command.outcome);
          break;
        case 'worker':
          break;
        case 'deposed':
          this.machine = undefined;
          this.isUp = false;
          this.party.generation++;
          this.ensureStarted();
          return;
      }
    }
    this.dispatch();
  }

  /** Attempts of about the same time go to a worker together. A single one is sent directly, and needs a queue if it goes on. */
  private enqueue(machine: CoordinatorProtocol<Outcome>, session: string, key: string): void {
    const { world, party, outbox } = this;
    const waiting = outbox.get(session);
    if (waiting !== undefined) {
      waiting.push(key);
      return;
    }
    const keys = [key];
    outbox.set(session, keys);
    const { generation } = party;
    const id = `d${++this.deliveries}-e${machine.epoch}`;
    world.after(world.random() * 20, () => {
      if (party.generation !== generation) return;
      outbox.delete(session);
      if (keys.length === 1) {
        world.toWorker(party, session, (worker) => worker.takeDirectly(session, key, machine.epoch));
        world.after(world.random() * 500, put);
      } else put();
    });
    const put = () => {
      if (party.generation !== generation || !keys.some((each) => this.assigned.has(each))) return;
      world.ask(
        party,
        (server) => {
          const queue = server.queues.get(session) ?? new Map<string, SimulatedJob>();
          server.queues.set(session, queue);
          if (!queue.has(id)) queue.set(id, { epoch: machine.epoch, keys, state: 'waiting', activeAt: 0 });
          world.wake(session);
        },
        () => {
          for (const each of keys) this.machine?.enqueued(each, session);
          this.obey();
        },
      );
    };
  }

  private inspect(session: string): void {
    const { world, party } = this;
    const read = <T>(what: (server: ServerState) => T, then: (value: T) => void) =>
      world.ask(party, what, then);
    read(
      (server) => [...(server.queues.get(session)?.values() ?? [])].flatMap(({ keys }) => keys),
      (queued) =>
        read(
          (server) => server.notes.get(session)?.note,
          (note) =>
            read(
              (server) => outcomesOf(server, session),
              (outcomes) => {
                this.machine?.inspected(session, { queued, note, outcomes });
                this.obey();
              },
            ),
        ),
    );
  }
}

function goneNote(session: string): WorkerNote {
  return { name: '', session, beat: 0, epoch: 0, held: [], waiting: [], isDraining: true, isGone: true };
}

function outcomesOf(server: ServerState, session: string): StoredOutcome<Outcome>[] {
  return Array.from(server.outcomes.get(session) ?? [], ([key, outcome]) => ({ key, outcome }));
}
