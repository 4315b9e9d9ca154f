import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { type OwnRedis, startRedis } from '../../scripts/start-redis.ts';
import { seededRandom } from '../../src/core/random.ts';
import type { TaskRecord } from '../../src/store/records.ts';
import { openStore } from '../../src/store/sqlite-store.ts';
import { type Ended, endOf, startBuilt } from '../e2e/support/built-volley.ts';
import { project } from '../e2e/support/project.ts';
import { trustFolder } from '../support/trust.ts';
import { FaultyNetwork } from './support/proxy.ts';

/** How often each fault happens. `npm run drill:cluster` sets VOLLEY_DRILL_FAULTS to a larger plan. */
const SHORT = 'workerKilled=1,serverKilled=1,bothStopped=1';
const PLAN = process.env['VOLLEY_DRILL_FAULTS'] ?? SHORT;
const SEED = Number(process.env['VOLLEY_DRILL_SEED'] ?? Date.now() % 1e9);
const TASK_MS = 400;
const TASKS_PER_BATCH = PLAN === SHORT ? 120 : 600;
/** Longer than a lease. */
const LONG_MS = 8500;
const HOUR_MS = 3_600_000;

const TOOLS = `{define}
import { appendFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
const work = (name, idempotent) => defineTool({
  name,
  idempotent,
  async run({ log, key }, { signal }) {
    const run = randomUUID();
    appendFileSync(log, key + ' ' + run + '\\n');
    await sleep(${TASK_MS}, undefined, { signal });
    return { run };
  },
});
export const repeatable = work('repeatable', true);
export const once = work('once', false);
`;

/** Moves the clock of a process and its threads. */
const CLOCK = `
import { syncBuiltinESMExports } from 'node:module';
import threads from 'node:worker_threads';
threads.Worker = class extends threads.Worker {
  constructor(file, options) {
    super(file, { ...options, execArgv: [...(options?.execArgv ?? []), '--import', import.meta.url] });
  }
};
syncBuiltinESMExports();
const shift = Number(process.env.VOLLEY_DRILL_CLOCK_MS);
const Real = Date;
globalThis.Date = class extends Real {
  constructor(...args) { if (args.length === 0) super(Real.now() + shift); else super(...args); }
  static now() { return Real.now() + shift; }
};
`;

interface Machine {
  readonly child: ChildProcess;
  readonly network: FaultyNetwork;
}

/** A project, a server, and processes that run batches on workers, each behind a network of its own. */
class Drill {
  readonly random = seededRandom(SEED);
  private readonly workers: Machine[] = [];
  private started = 0;
  private run: (Machine & { readonly ended: Promise<Ended>; readonly file: string }) | undefined;
  readonly log: string;

  constructor(
    readonly redis: OwnRedis,
    readonly folder: string,
  ) {
    this.log = join(folder, 'log.txt');
    writeFileSync(this.log, '');
  }

  async startWorker(): Promise<void> {
    const number = ++this.started;
    // The clock of every second worker is wrong, in both directions.
    const shift = number % 2 === 0 ? 0 : number % 4 === 1 ? HOUR_MS : -HOUR_MS;
    const network = await this.network();
    const args = ['worker', '--name', `w${number}`, '--join', network.url];
    const child = this.start(args, shift);
    child.stdout!.resume();
    child.stderr!.resume();
    this.workers.push({ child, network });
  }

  /** Starts or continues a batch, by a coordinator whose clock is also wrong. */
  async startRun(file: string): Promise<void> {
    const network = await this.network();
    const child = this.start(
      ['run', file, '--json', '--on', network.url],
      ++this.started % 2 === 0 ? HOUR_MS : -HOUR_MS,
    );
    this.run = { child, network, file, ended: endOf(child) };
  }

  get current() {
    return this.run!;
  }

  get isOver(): boolean {
    const { exitCode, signalCode } = this.current.child;
    return exitCode !== null || signalCode !== null;
  }

  someWorker(): Machine {
    return this.workers[Math.floor(this.random() * this.workers.length)]!;
  }

  async killWorker(): Promise<void> {
    const [machine] = this.workers.splice(Math.floor(this.random() * this.workers.length), 1);
    machine!.child.kill('SIGKILL');
    await this.startWorker();
  }

  async killRun(): Promise<void> {
    const { child, ended, file } = this.current;
    child.kill('SIGKILL');
    await ended;
    await this.startRun(file);
  }

  /** Kills the server. It may lose what it wrote last, as after a crash of its machine. */
  async killServer(lostBytes = 0): Promise<void> {
    await this.redis.kill();
    const folder = join(this.redis.folder, 'appendonlydir');
    const log = readdirSync(folder).filter((name) => name.endsWith('.incr.aof'));
    for (const name of log) {
      const path = join(folder, name);
      if (lostBytes > 0) truncateSync(path, Math.max(0, statSync(path).size - lostBytes));
    }
    await sleep(this.random() * 2000);
    await this.redis.start();
  }

  async stopFor(ms: number, ...machines: readonly Machine[]): Promise<void> {
    for (const { child } of machines) child.kill('SIGSTOP');
    await sleep(ms);
    for (const { child } of machines) child.kill('SIGCONT');
  }

  async holdFor(ms: number, { network }: Machine): Promise<void> {
    network.hold();
    await sleep(ms);
    network.heal();
  }

  /** Every run of every task, by its key. */
  runs(): Map<string, string[]> {
    const found = new Map<string, string[]>();
    for (const line of readFileSync(this.log, 'utf8').split('\n')) {
      const [key, run] = line.split(' ');
      if (run !== undefined) found.set(key!, [...(found.get(key!) ?? []), run]);
    }
    return found;
  }

  /** Waits until work has started since now, or the batch is over. */
  async untilWork(): Promise<void> {
    const size = () => statSync(this.log).size;
    const before = size();
    await expect.poll(() => this.isOver || size() > before + 200, { timeout: 120_000 }).toBe(true);
  }

  private async network(): Promise<FaultyNetwork> {
    const network = await FaultyNetwork.before(this.redis.url);
    onTestFinished(() => network.close());
    return network;
  }

  private start(args: readonly string[], shiftMs: number): ChildProcess {
    const env = {
      VOLLEY_CLUSTER_KEY: 'a key for this drill only',
      NODE_OPTIONS: `--import ${join(this.folder, 'clock.mjs')}`,
      VOLLEY_DRILL_CLOCK_MS: String(shiftMs),
    };
    const child = startBuilt(this.folder, args, { env });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  }
}

const FAULTS: Readonly<Record<string, (drill: Drill) => Promise<void>>> = {
  workerKilled: (drill) => drill.killWorker(),
  coordinatorKilled: (drill) => drill.killRun(),
  serverKilled: (drill) => drill.killServer(),
  /** The last second of its log is lost with its machine. */
  serverForgot: (drill) => drill.killServer(2000 + Math.floor(drill.random() * 50_000)),
  workerStopped: (drill) => drill.stopFor(LONG_MS + drill.random() * 2000, drill.someWorker()),
  coordinatorStopped: (drill) => drill.stopFor(LONG_MS, drill.current),
  bothStopped: (drill) => drill.stopFor(LONG_MS, drill.current, drill.someWorker()),
  workerCutOff: (drill) => drill.holdFor(drill.random() * 2 * LONG_MS, drill.someWorker()),
  coordinatorCutOff: (drill) => drill.holdFor(drill.random() * 2 * LONG_MS, drill.current),
};

test(`batches on workers (seed ${SEED}) lose nothing and repeat only what is idempotent under ${PLAN}`, {
  timeout: 3_600_000,
}, async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const folder = project({
    'volley.toml': `[tools]\nmodules = ["./tools.mjs"]\n[limits]\nmax_concurrency = 4\n`,
    'tools.mjs': TOOLS,
    'clock.mjs': CLOCK,
  });
  await trustFolder(folder);
  const drill = new Drill(redis, folder);
  const faults = PLAN.split(',').flatMap((part) => {
    const [name, count] = part.split('=');
    return Array<string>(Number(count)).fill(name!);
  });
  if (PLAN !== SHORT) shuffle(faults, drill.random);
  for (let worker = 0; worker < 3; worker++) await drill.startWorker();

  const totals = { batches: 0, completed: 0, failed: 0, neverRan: 0, repeated: 0 };
  const injected: Record<string, number> = {};
  while (faults.length > 0) {
    const batch = `b${totals.batches++}`;
    await drill.startRun(writeBatch(drill, batch));
    while (faults.length > 0) {
      await drill.untilWork();
      if (drill.isOver) break;
      const fault = faults.shift()!;
      if (PLAN !== SHORT) console.log(`${new Date().toISOString()} ${batch} ${fault}, ${faults.length} left`);
      await FAULTS[fault]!(drill);
      injected[fault] = (injected[fault] ?? 0) + 1;
    }
    const ended = await drill.current.ended;
    const { records, results } = await readBatch(folder, batch);
    const { failed, neverRan, repeated } = check(records, results, drill.runs(), ended);
    totals.failed += failed;
    totals.neverRan += neverRan;
    totals.repeated += repeated;
    totals.completed += records.length - failed;
  }
  console.log(JSON.stringify({ seed: SEED, ...totals, injected }));
});

function writeBatch({ folder, log }: Drill, batch: string): string {
  const tasks = Array.from({ length: TASKS_PER_BATCH }, (_, index) => {
    const key = `${batch}-${index}`;
    return { id: key, function: index % 3 === 0 ? 'once' : 'repeatable', params: { log, key } };
  });
  writeFileSync(join(folder, `${batch}.json`), JSON.stringify({ max_concurrent: 12, tasks }));
  return `${batch}.json`;
}

async function readBatch(folder: string, batch: string) {
  const store = await openStore(join(folder, '.volley/volley.db'));
  try {
    const records = await store.tasks(batch, { limit: TASKS_PER_BATCH + 1 });
    const results = new Map<string, string>();
    for (const { id, status } of records)
      if (status === 'completed') results.set(id, JSON.parse((await store.result(batch, id))!).run);
    return { records, results };
  } finally {
    await store.close();
  }
}

/** Nothing is lost. What is not completed is not idempotent, and was interrupted. Every result is that of a run. */
function check(
  records: readonly TaskRecord[],
  results: ReadonlyMap<string, string>,
  runs: ReadonlyMap<string, readonly string[]>,
  { status, stdout, stderr }: Ended,
) {
  const output = stdout.slice(-2000) + stderr.slice(-2000);
  expect(records.length, output).toBe(TASKS_PER_BATCH);
  const failed = records.filter((task) => task.status === 'failed');
  expect(results.size + failed.length, output).toBe(TASKS_PER_BATCH);
  for (const [id, run] of results) expect(runs.get(id)).toContain(run);
  expect(failed.map((task) => [task.function, task.reason])).toEqual(failed.map(() => ['once', 'crashed']));
  const repeated = records.filter(({ id }) => (runs.get(id)?.length ?? 0) > 1);
  expect(repeated.filter((task) => task.function === 'once').map(({ id }) => id)).toEqual([]);
  expect(status, output).toBe(failed.length === 0 ? 0 : 1);
  const neverRan = failed.filter(({ id }) => !runs.has(id));
  return { failed: failed.length, neverRan: neverRan.length, repeated: repeated.length };
}

function shuffle(list: string[], random: () => number): void {
  for (let at = list.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [list[at], list[other]] = [list[other]!, list[at]!];
  }
}
