import { describe, expect, it, onTestFinished } from 'vitest';
import { BatchExecutor } from '../../../src/batch/executor/batch-executor.ts';
import { ServerGroup } from '../../../src/batch/servers/server-group.ts';
import { openPostgresStore, type PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { ownIdentity } from '../../../src/store/process-identity.ts';
import { openTestCoordinator } from '../../coordinator/support.ts';
import { newSchema } from '../../store/support/postgres.ts';
import { sharedPostgres } from '../../support/postgres.ts';
import { HeldCalls } from '../support/rig.ts';

const postgres = await sharedPostgres();
const TIMES = { beatMs: 50, leaseMs: 1500 };
const LEASE_MS = 2000;
const WAIT = { timeout: 60_000 };

/** A server of a store, as on a machine of its own. */
class Server {
  readonly calls = new HeldCalls();

  private constructor(
    readonly name: string,
    readonly store: PostgresStore,
    readonly executor: BatchExecutor,
    readonly group: ServerGroup,
    readonly log: string[],
  ) {}

  static async start(place: string, name: string, host = name): Promise<Server> {
    const identity = { ...ownIdentity(), host, boot: name };
    const store = await openPostgresStore(place, { identity, heartbeatMs: 300, leaseMs: LEASE_MS });
    const { coordinator } = openTestCoordinator();
    const executor = new BatchExecutor({ coordinator, store });
    const log: string[] = [];
    const group = await ServerGroup.join({
      ...{ store, executor, workers: undefined, address: `http://${name}`, times: TIMES },
      log: (_, event, facts) =>
        log.push([event, facts['batch']].filter((part) => part !== undefined).join(' ')),
    });
    const server = new Server(name, store, executor, group, log);
    coordinator.register(server.calls.tool('held', { idempotent: true }), server.calls.tool('once'));
    onTestFinished(async () => {
      await group.leave();
      coordinator.engine.cancelAll('the test is over');
      await executor.close({ graceMs: 0 });
      await store.close().catch(() => undefined);
    });
    return server;
  }

  async ask(action: string, args: object = {}) {
    const answer = await this.executor.handle({ action, ...args });
    if (!answer.ok) throw new Error(`${action}: ${answer.error?.code}: ${answer.text}`);
    return answer;
  }

  async standing(): Promise<string[]> {
    const tasks = await this.store.tasks('default', { limit: 100 });
    return tasks.map(({ id, status, reason }) => [id, status, reason].filter((part) => part).join(' '));
  }

  /** Is gone at once, as after a crash: nothing is said, and nothing more is written. */
  async die(): Promise<void> {
    // Its connections end, so that it can neither renew nor release anything.
    const { database } = this.store as unknown as { database: { close(): Promise<void> } };
    await database.close();
  }
}

const task = (id: string, tool = 'held') => ({ id, function: tool, params: { key: id } });

async function twoServers(): Promise<[first: Server, second: Server]> {
  const place = newSchema(postgres);
  const first = await Server.start(place, 'one');
  return [first, await Server.start(place, 'two')];
}

describe('servers on one store', () => {
  it('have one leader, which runs what is started through any of them', async () => {
    const [first, second] = await twoServers();
    expect([first.group.leads, second.group.leads]).toEqual([true, false]);
    expect(await second.store.servers.list()).toMatchObject([
      { address: 'http://one', isLeader: true, isReady: true },
      { address: 'http://two', isLeader: false, isReady: true },
    ]);
    await second.ask('add_batch', { tasks: [task('a'), task('b')] });
    const started = await second.ask('start', { max_concurrent: 1 });
    expect(started.data).toMatchObject({ state: 'running', max_concurrent: 1 });
    await first.calls.started('a');
    expect((await second.ask('status')).data).toMatchObject({ state: 'elsewhere' });
    expect((await second.ask('cancel', { ids: ['b'] })).data).toMatchObject({ cancelled: 1 });
    await second.ask('add', task('c'));
    first.calls.finish('a');
    await first.calls.started('c');
    first.calls.finish('c');
    expect((await second.ask('wait')).data).toMatchObject({ finished: true });
    expect(await second.standing()).toEqual(['a completed', 'b cancelled', 'c completed']);
    expect(second.calls.begun).toEqual([]);
  });

  it('have one leader, also on machines that share a name', async () => {
    const place = newSchema(postgres);
    const first = await Server.start(place, 'one', 'same');
    const second = await Server.start(place, 'two', 'same');
    await second.ask('add_batch', { tasks: [task('a')] });
    await second.ask('start');
    await first.calls.started('a');
    expect([first.group.leads, second.group.leads]).toEqual([true, false]);
    expect(first.log.filter((line) => line.startsWith('leads'))).toEqual(['leads']);
    first.calls.finish('a');
    expect((await second.ask('wait')).data).toMatchObject({ finished: true });
  });

  it('say what is wrong with a start, whichever is asked', async () => {
    const [, second] = await twoServers();
    await second.ask('add_batch', { tasks: [task('a')] });
    await second.ask('start');
    const again = await second.executor.handle({ action: 'start' });
    expect(again).toMatchObject({ ok: false, error: { code: 'BATCH_RUNNING' } });
  });

  it('continue the batches of a leader that died: what has ended does not run again, what is not idempotent neither', async () => {
    const [first, second] = await twoServers();
    await second.ask('add_batch', {
      tasks: [task('done'), task('again'), task('once', 'once'), task('left')],
    });
    await second.ask('start', { max_concurrent: 3 });
    await first.calls.started('once');
    first.calls.finish('done');
    await first.calls.started('left');
    // Another may start before this is written.
    await expect.poll(() => second.standing(), WAIT).toContain('done completed');
    const waiting = second.ask('wait');
    await first.die();
    await second.calls.started('again');
    await second.calls.started('left');
    second.calls.finish('again');
    second.calls.finish('left');
    expect((await waiting).data).toMatchObject({ finished: true });
    expect(await second.standing()).toEqual([
      'done completed',
      'again completed',
      'once failed crashed',
      'left completed',
    ]);
    expect(second.log).toEqual(['leads', 'continued default']);
    // The one that could not reach the store any more has given up.
    await expect.poll(() => first.group.leads, WAIT).toBe(false);
    expect(first.log).toContain('leads no more');
    expect((await second.store.batch('default'))!.options).toContain('"maxConcurrency":3');
  });

  it('do not continue what was stopped', async () => {
    const [first, second] = await twoServers();
    await second.ask('add_batch', { tasks: [task('a'), task('b')] });
    await second.ask('start', { max_concurrent: 1 });
    await first.calls.started('a');
    await second.ask('stop');
    first.calls.finish('a');
    await second.ask('wait');
    await first.group.leave();
    await expect.poll(() => second.group.leads, WAIT).toBe(true);
    expect(await second.store.servers.orphans()).toEqual([]);
    expect(await second.standing()).toEqual(['a completed', 'b open']);
  });

  it('hand their batches over when they are stopped themselves', async () => {
    const [first, second] = await twoServers();
    await second.ask('add_batch', { tasks: [task('a'), task('b')] });
    await second.ask('start', { max_concurrent: 1 });
    await first.calls.started('a');
    first.group.drain();
    const closing = first.executor.close();
    first.calls.finish('a');
    await closing;
    await first.group.leave();
    await second.calls.started('b');
    second.calls.finish('b');
    await second.ask('wait');
    expect(await second.standing()).toEqual(['a completed', 'b completed']);
  });

  it('give up a batch whose process dies again and again before anything has ended', async () => {
    const place = newSchema(postgres);
    const store = await openPostgresStore(place, { identity: { ...ownIdentity(), pid: 2 ** 22 + 1 } });
    onTestFinished(() => store.close());
    await store.servers.join({ address: 'http://gone' });
    await store.addTasks('default', [
      { ...task('poison'), name: 'poison', params: '{"key":"poison"}', options: {} },
    ]);
    const start = await store.lease('default');
    await store.batchStarted('default', '{}', 1);
    await start.release();
    for (let time = 0; time < 5; time++) {
      expect(await store.servers.orphans()).toEqual([{ batch: 'default', isHopeless: false }]);
      await (await store.lease('default', { continues: true })).release();
    }
    expect(await store.servers.orphans()).toEqual([{ batch: 'default', isHopeless: true }]);
    const server = await Server.start(place, 'two');
    await expect.poll(() => server.log, WAIT).toEqual(['leads', 'not continued default']);
    expect(await server.store.servers.orphans()).toEqual([]);
    expect(await server.standing()).toEqual(['poison open']);
  });
});
