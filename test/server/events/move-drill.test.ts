import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startPostgres } from '../../../scripts/start-postgres.ts';
import { seededRandom } from '../../../src/core/random.ts';
import type { StoreFeed } from '../../../src/store/feed.ts';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { buildProgram } from '../../e2e/support/built-program.ts';
import { newSchema } from '../../store/support/postgres.ts';
import { TOKENS } from '../support/serve.ts';
import { SseClient } from './support/sse-client.ts';

/**
 * Clients that move between servers all the time, while batches run, servers are killed and PostgreSQL is restarted.
 * `VOLLEY_DRILL_MOVES=1000 npm run drill:events` for long.
 */
const MOVES = Number(process.env['VOLLEY_DRILL_MOVES'] ?? 24);
const SEED = Number(process.env['VOLLEY_TEST_SEED'] ?? 20_261_116);
const TASKS = 150;
const CLIENTS = ['/v1/events', '/v1/batches/x/events', '/v1/batches/y/events'] as const;
const built = await buildProgram();

interface Running {
  readonly child: ChildProcess;
  readonly port: number;
}

async function startServing(address: string): Promise<Running> {
  const child = fork(built.program('server/events/fixtures/serves-a-store'), [address, TOKENS.admin], {
    execArgv: [],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [{ port, folder }] = (await once(child, 'message')) as [{ port: number; folder: string }];
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return { child, port };
}

async function post({ port }: Running, path: string, body: object): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKENS.admin}` },
  });
  if (!answer.ok && answer.status !== 409)
    throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
}

/** `x a started 1`: what both a client and the feed say of an entry. Undefined for what is no entry. */
function said(type: string, { batch, ...body }: Record<string, unknown>): string | undefined {
  if (type === 'task')
    return `${batch} ${body['id']} ${body['type']} ${body['attempt']} ${body['progress'] ?? ''}`;
  if (type === 'added') return `${batch} added ${body['from_seq']}`;
  return type === 'cleared' ? `${batch} cleared ${body['at']}` : undefined;
}

/** A client that moves. */
class Mover {
  readonly heard: string[] = [];
  readonly gaps: number[] = [];
  firstId: string | undefined;
  lastId: string | undefined;
  moves = 0;
  private client: SseClient | undefined;
  private read = 0;

  constructor(readonly path: string) {}

  connect({ port }: Running): void {
    this.take();
    this.client?.cut();
    this.client = new SseClient(port, this.path, { token: TOKENS.admin, lastEventId: this.lastId });
    this.read = 0;
    this.moves++;
  }

  /** Takes what has come. */
  take(): void {
    const { client } = this;
    if (client === undefined) return;
    for (; this.read < client.events.length; this.read++) {
      const { type, data } = client.events[this.read]!;
      if (type === 'gap') this.gaps.push(this.heard.length);
      const text = said(type, data as Record<string, unknown>);
      if (text !== undefined) this.heard.push(text);
    }
    this.lastId = client.lastEventId ?? this.lastId;
    this.firstId ??= this.lastId;
  }

  get isCut(): boolean {
    return this.client?.hasEnded === true;
  }

  close(): void {
    this.take();
    this.client?.cut();
  }
}

/** What somebody reads who stays. */
class Reference {
  readonly said: string[] = [];

  constructor(
    private readonly feed: StoreFeed,
    private place: string,
  ) {}

  async read(): Promise<void> {
    for (;;) {
      const page = (await this.feed.read(this.place))!;
      for (const { batch, body } of page.events) {
        const { event = 'task', ...rest } = body as { event?: string };
        const text = said(event, { batch, ...rest });
        if (text !== undefined) this.said.push(text);
      }
      this.place = page.next;
      if (page.isLast) return;
    }
  }
}

test(`clients that move ${MOVES} times between servers lose nothing and get nothing twice (seed ${SEED})`, async () => {
  const random = seededRandom(SEED);
  const postgres = await startPostgres({ max_connections: '100' });
  onTestFinished(() => postgres.remove());
  const address = newSchema(postgres.address);
  const store = await openPostgresStore(address);
  onTestFinished(() => store.close().catch(() => undefined));
  const servers: Running[] = [await startServing(address), await startServing(address)];
  const pick = (): Running => servers[Math.floor(random() * servers.length)]!;
  const movers = CLIENTS.map((path) => new Mover(path));
  const tasks = (batch: string) =>
    Array.from({ length: TASKS }, (_, n) => ({ id: `${batch}${n}`, function: 'step', params: { n } }));
  for (const batch of ['x', 'y']) await post(servers[0]!, '/v1/batches', { batch, tasks: tasks(batch) });
  for (const mover of movers) mover.connect(pick());
  for (const mover of movers)
    await expect
      .poll(() => {
        mover.take();
        return mover.firstId;
      })
      .toBeDefined();
  const reference = new Reference(store.feed, await store.feed.end());
  const isOver = async () => {
    const records = await Promise.all(['x', 'y'].map((batch) => store.batch(batch)));
    return records.every(
      (record) => record!.holder === undefined && record!.counts.open + record!.counts.running === 0,
    );
  };
  let [moves, runs, kills] = [0, 0, 0];
  const killEvery = Math.ceil(MOVES / Math.max(2, MOVES / 50));
  while (moves < MOVES || !(await isOver())) {
    // Somebody runs each batch, also after its server was killed.
    for (const [index, batch] of ['x', 'y'].entries()) {
      const record = (await store.batch(batch))!;
      if (record.holder !== undefined) continue;
      if (record.counts.open + record.counts.running === 0) {
        if (moves >= MOVES) continue;
        const more = tasks(batch).map((task) => ({ ...task, id: `${task.id}-${++runs}` }));
        await post(pick(), `/v1/batches/${batch}/tasks`, { tasks: more });
      }
      await post(servers[index % servers.length]!, `/v1/batches/${batch}/start`, { max_concurrent: 8 });
    }
    for (const mover of movers) {
      mover.take();
      if (!mover.isCut && (moves >= MOVES || random() > 0.4)) continue;
      mover.connect(pick());
      moves++;
      if (moves % killEvery !== 0) continue;
      kills++;
      if (kills % 2 === 1) {
        const victim = Math.floor(random() * servers.length);
        servers[victim]!.child.kill('SIGKILL');
        servers[victim] = await startServing(address);
      } else if (kills % 4 === 2) {
        await postgres.stop();
        await postgres.start();
      } else {
        await postgres.kill();
        await postgres.start();
      }
    }
    await reference.read();
    await sleep(20 + random() * 100);
  }
  await reference.read();
  for (const mover of movers) {
    const own = /batches\/(\w+)/.exec(mover.path)?.[1];
    const expected = reference.said.filter((text) => own === undefined || text.startsWith(`${own} `));
    await expect
      .poll(
        () => {
          mover.take();
          if (mover.isCut) mover.connect(pick());
          return mover.heard.length;
        },
        { timeout: 120_000 },
      )
      .toBeGreaterThanOrEqual(expected.length);
    mover.close();
    expect(mover.gaps).toEqual([]);
    expect([...mover.heard].sort()).toEqual([...expected].sort());
    // And of each batch in the order in which it happened.
    for (const name of ['x', 'y']) {
      const of = (list: readonly string[]) => list.filter((text) => text.startsWith(`${name} `));
      expect(of(mover.heard)).toEqual(of(expected));
    }
  }
  // And that is the truth: each task has ended once in it.
  for (const batch of ['x', 'y']) {
    const ended = (await store.tasks(batch, { limit: 10_000_000 })).map(
      ({ id, status }) => `${batch} ${id} ${status}`,
    );
    const told = reference.said.flatMap((text) => /^\w+ \S+ (completed|failed)\b/.exec(text)?.[0] ?? []);
    expect(told.filter((text) => text.startsWith(`${batch} `)).sort()).toEqual(ended.sort());
  }
}, 3_600_000);
