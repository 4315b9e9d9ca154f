import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { type OwnPostgres, startPostgres } from '../../scripts/start-postgres.ts';
import { type OwnRedis, startRedis } from '../../scripts/start-redis.ts';
import { seededRandom } from '../../src/core/random.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { TaskRecord } from '../../src/store/records.ts';
import type { Store } from '../../src/store/store.ts';
import { FaultyNetwork } from '../cluster/support/proxy.ts';
import { trustFolder } from '../support/trust.ts';
import { DEFINE, startBuilt } from './support/built-volley.ts';

/** How often each fault happens. `npm run drill:failover` sets VOLLEY_DRILL_FAILOVER to a larger plan. */
const SHORT = 'killed=2,postgresCut=1,redisCut=1';
const PLAN = process.env['VOLLEY_DRILL_FAILOVER'] ?? SHORT;
const isShort = PLAN === SHORT;
const SEED = Number(process.env['VOLLEY_DRILL_SEED'] ?? Date.now() % 1e9);
const TASKS = Number(process.env['VOLLEY_DRILL_TASKS'] ?? (isShort ? 300 : 2000));
const TASK_MS = 300;
const WORKERS = isShort ? 2 : 4;
/** Any longer, and something is wrong. The promise is about the 95th percentile. */
const LONGEST_MS = 60_000;

const TOOLS = `${DEFINE}
import { appendFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
const work = (name, idempotent) => defineTool({
  name,
  idempotent,
  async run({ log, key }, { signal }) {
    const run = randomUUID();
    appendFileSync(log, key + ' ' + run + ' ' + Date.now() + '\\n');
    await sleep(${TASK_MS}, undefined, { signal });
    return { run };
  },
});
export const repeatable = work('repeatable', true);
export const once = work('once', false);
`;

interface Server {
  readonly child: ChildProcess;
  readonly address: string;
  readonly token: string;
  readonly postgres: FaultyNetwork;
  readonly redis: FaultyNetwork;
  readonly log: string[];
}

interface Started {
  readonly key: string;
  readonly run: string;
  readonly at: number;
}

/** Three servers on a store, each behind networks of its own, and workers. */
class Drill {
  readonly random = seededRandom(SEED);
  private servers: Server[] = [];
  readonly log: string;
  private started = 0;

  constructor(
    readonly postgres: OwnPostgres,
    readonly redis: OwnRedis,
    readonly store: Store,
    readonly folder: string,
  ) {
    this.log = join(folder, 'log.txt');
    writeFileSync(this.log, '');
  }

  async startWorkers(): Promise<void> {
    const folder = await this.project('workers', this.redis.url);
    for (let number = 1; number <= WORKERS; number++) {
      const child = this.start(folder, ['worker', '--name', `w${number}`, '--join', this.redis.url]);
      child.stdout!.resume();
      child.stderr!.resume();
    }
  }

  async startServer(): Promise<void> {
    const [postgres, redis] = [
      await FaultyNetwork.before(join(this.postgres.folder, '.s.PGSQL.5432')),
      await FaultyNetwork.before(this.redis.url),
    ];
    onTestFinished(() => Promise.all([postgres.close(), redis.close()]).then(() => undefined));
    const folder = await this.project(`server-${++this.started}`, redis.url);
    const { user } = this.postgres;
    const url = `postgres://${user}@127.0.0.1:${postgres.port}/postgres?sslmode=disable&schema=volley`;
    const child = this.start(folder, ['serve', '--port', '0', '--json'], { VOLLEY_STORE_URL: url });
    const log: string[] = [];
    createInterface(child.stderr!).on('line', (line) => log.push(line));
    const [line] = (await Promise.race([
      once(createInterface(child.stdout!), 'line'),
      once(child, 'exit').then(() => Promise.reject(new Error(`The server has ended: ${log.join('\n')}`))),
    ])) as [string];
    const { address, record_file: record } = JSON.parse(line) as { address: string; record_file: string };
    if (record === undefined) throw new Error(line);
    const { token } = JSON.parse(readFileSync(record, 'utf8')) as { token: string };
    this.servers.push({ child, address, token, postgres, redis, log });
  }

  async leader(): Promise<Server> {
    let found: Server | undefined;
    await expect
      .poll(
        async () => {
          const list = await this.store.servers!.list();
          const address = list.find(({ isLeader, silentMs }) => isLeader && silentMs < 3000)?.address;
          found = this.servers.find((server) => server.address === address);
          return found !== undefined;
        },
        { timeout: LONGEST_MS },
      )
      .toBe(true);
    return found!;
  }

  /** A server that does not lead, if there is one. */
  async follower(): Promise<Server> {
    const leader = await this.leader();
    return this.servers.find((server) => server !== leader) ?? leader;
  }

  async ask(server: Server, request: object): Promise<Record<string, unknown>> {
    const response = await fetch(`${server.address}/v1/actions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(request),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    expect(response.status, JSON.stringify(answer)).toBe(200);
    return answer;
  }

  starts(): Started[] {
    return readFileSync(this.log, 'utf8')
      .split('\n')
      .flatMap((line) => {
        const [key, run, at] = line.split(' ');
        return at === undefined ? [] : [{ key: key!, run: run!, at: Number(at) }];
      });
  }

  /** Waits until another server than this one has started a task, and returns how long that took. */
  async untilTakenOver(from: Server, since: number): Promise<number | undefined> {
    const { address } = from;
    let ledAt = 0;
    await expect
      .poll(
        async () => {
          const list = await this.store.servers!.list().catch(() => []);
          const isTaken = list.some((server) => server.isLeader && server.address !== address);
          if (isTaken) ledAt = Date.now();
          return isTaken;
        },
        { timeout: LONGEST_MS, interval: 20 },
      )
      .toBe(true);
    let firstAt: number | undefined;
    await expect
      .poll(
        async () => {
          firstAt = this.starts().find(({ at }) => at > ledAt)?.at;
          return firstAt !== undefined || (await this.isOver());
        },
        { timeout: LONGEST_MS, interval: 20 },
      )
      .toBe(true);
    return firstAt === undefined ? undefined : firstAt - since;
  }

  async isOver(): Promise<boolean> {
    const batches = await this.store.batches().catch(() => []);
    const { counts } = batches.at(-1) ?? {};
    return counts !== undefined && counts.open + counts.running === 0;
  }

  async untilWork(): Promise<void> {
    const before = statSync(this.log).size;
    await expect
      .poll(async () => statSync(this.log).size > before + 2000 || (await this.isOver()), {
        timeout: LONGEST_MS,
      })
      .toBe(true);
  }

  async kill(server: Server): Promise<void> {
    this.servers = this.servers.filter((other) => other !== server);
    server.child.kill('SIGKILL');
  }

  story(): string {
    return this.servers.map(({ address, log }) => `${address}\n${log.slice(-20).join('\n')}`).join('\n');
  }

  private async project(name: string, redis: string): Promise<string> {
    const folder = join(this.folder, name);
    mkdirSync(folder);
    writeFileSync(join(folder, 'tools.mjs'), TOOLS);
    writeFileSync(
      join(folder, 'volley.toml'),
      `[tools]\nmodules = ["./tools.mjs"]\n[limits]\nmax_concurrency = 4\n[cluster]\nurl = "${redis}"\n`,
    );
    await trustFolder(folder);
    return folder;
  }

  private start(folder: string, args: readonly string[], env: Record<string, string> = {}): ChildProcess {
    const child = startBuilt(folder, args, {
      env: { VOLLEY_CLUSTER_KEY: 'a key for this drill only', ...env },
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  }
}

/** Cuts the leader off, and heals its networks when another one has taken over. */
async function cutOff(
  drill: Drill,
  networks: (server: Server) => FaultyNetwork[],
): Promise<number | undefined> {
  const leader = await drill.leader();
  const since = Date.now();
  const holds = drill.random() < 0.5;
  for (const network of networks(leader)) {
    if (holds) network.hold();
    else network.cut();
  }
  const tookMs = await drill.untilTakenOver(leader, since);
  for (const network of networks(leader)) network.heal();
  return tookMs;
}

/** Each returns how long it took until another server had started a task, if one had to. */
const FAULTS: Readonly<Record<string, (drill: Drill) => Promise<number | undefined>>> = {
  killed: async (drill) => {
    const leader = await drill.leader();
    const since = Date.now();
    await drill.kill(leader);
    const tookMs = await drill.untilTakenOver(leader, since);
    await drill.startServer();
    return tookMs;
  },
  postgresCut: (drill) => cutOff(drill, ({ postgres }) => [postgres]),
  redisCut: (drill) => cutOff(drill, ({ redis }) => [redis]),
  bothCut: (drill) => cutOff(drill, ({ postgres, redis }) => [postgres, redis]),
  postgresRestarted: async ({ postgres, random }) => {
    await (random() < 0.5 ? postgres.stop() : postgres.kill());
    await sleep(random() * 1000);
    await postgres.start();
    return undefined;
  },
};

test(`batches of servers lose nothing and repeat only what is idempotent under ${PLAN} (seed ${SEED})`, {
  timeout: 3_600_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'volley-failover-'));
  // What was committed survives a crash of the server, though not one of the machine.
  const postgres = await startPostgres({ fsync: 'off', max_connections: '200' });
  const redis = await startRedis();
  const store = await openPostgresStore(`${postgres.address}&schema=volley`);
  onTestFinished(async () => {
    await store.close();
    await Promise.all([postgres.remove(), redis.stop()]);
    rmSync(folder, { recursive: true, force: true });
  });
  const drill = new Drill(postgres, redis, store, folder);
  await drill.startWorkers();
  for (let number = 0; number < 3; number++) await drill.startServer();

  const faults = PLAN.split(',').flatMap((part) => {
    const [name, count] = part.split('=');
    return Array<string>(Number(count)).fill(name!);
  });
  if (!isShort) shuffle(faults, drill.random);
  const totals = { batches: 0, completed: 0, crashed: 0, repeated: 0 };
  const took: Record<string, number[]> = {};
  while (faults.length > 0) {
    const batch = `b${totals.batches++}`;
    const tasks = Array.from({ length: TASKS }, (_, index) => {
      const key = `${batch}-${index}`;
      return { id: key, function: index % 3 === 0 ? 'once' : 'repeatable', params: { log: drill.log, key } };
    });
    const server = await drill.follower();
    await drill.ask(server, { action: 'add_batch', batch, tasks });
    await drill.ask(server, { action: 'start', batch, max_concurrent: 16 });
    while (faults.length > 0) {
      await drill.untilWork();
      if (await drill.isOver()) break;
      const fault = faults.shift()!;
      const tookMs = await FAULTS[fault]!(drill);
      if (tookMs !== undefined) took[fault] = [...(took[fault] ?? []), tookMs];
      if (!isShort)
        console.log(
          `${new Date().toISOString()} ${batch} ${fault} ${tookMs ?? '-'} ms, ${faults.length} left`,
        );
      check(await recordsOf(store, batch, false), drill);
    }
    await expect.poll(() => drill.isOver(), { timeout: 600_000, interval: 200 }).toBe(true);
    const records = await recordsOf(store, batch, true);
    const found = check(records, drill);
    for (const { id, status, function: tool, reason, result } of records) {
      if (status === 'completed') expect(found.get(id)).toContain(result);
      else expect([id, tool, status, reason], drill.story()).toEqual([id, 'once', 'failed', 'crashed']);
    }
    totals.completed += records.filter(({ status }) => status === 'completed').length;
    totals.crashed += records.filter(({ status }) => status === 'failed').length;
    totals.repeated += records.filter(({ id }) => (found.get(id)?.length ?? 0) > 1).length;
  }
  const all = Object.values(took).flat();
  console.log(JSON.stringify({ seed: SEED, ...totals, p95: percentile(all), took }));
  // A busy machine is slower.
  if (!isShort) expect(percentile(all)).toBeLessThanOrEqual(10_000);
});

/** Nothing is lost, and no call that is not idempotent has run twice. Returns the runs of each task. */
function check(records: readonly TaskRecord[], drill: Drill): Map<string, string[]> {
  expect(records.length).toBe(TASKS);
  const runs = new Map<string, string[]>();
  for (const { key, run } of drill.starts()) runs.set(key, [...(runs.get(key) ?? []), run]);
  const twice = records.filter((task) => task.function === 'once' && (runs.get(task.id)?.length ?? 0) > 1);
  expect(
    twice.map(({ id, status, attempts }) => ({ id, status, attempts })),
    drill.story(),
  ).toEqual([]);
  return runs;
}

async function recordsOf(store: Store, batch: string, withResults: boolean) {
  const records = await store.tasks(batch, { limit: TASKS + 1 });
  const results = withResults
    ? await store.results(
        batch,
        records.map(({ id }) => id),
      )
    : new Map();
  return records.map((record) => ({
    ...record,
    result: results.has(record.id) ? (JSON.parse(results.get(record.id)!).run as string) : undefined,
  }));
}

function percentile(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(0.95 * sorted.length) - 1] ?? 0;
}

function shuffle(list: string[], random: () => number): void {
  for (let at = list.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [list[at], list[other]] = [list[other]!, list[at]!];
  }
}
