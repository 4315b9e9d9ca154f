import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, type TestContext, test, vi } from 'vitest';
import { listWorkers } from '../../src/cluster/list-workers.ts';
import type { ClusterSettings } from '../../src/cluster/registry.ts';
import { parseMessage, type SignedMessage, Signer } from '../../src/cluster/signature.ts';
import { defaultConfig } from '../../src/config/config.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { OwnCluster } from './support/cluster.ts';
import { FaultyNetwork } from './support/proxy.ts';

let shared: OwnCluster;
let redis: Redis;
beforeAll(async () => {
  shared = await OwnCluster.start();
  redis = new Redis(shared.settings.url);
});
afterAll(async () => {
  redis.disconnect();
  await shared.stop();
});

/** A cluster for one test. Tests wait more than they work, so they run at the same time. */
function ownCluster({ task, onTestFinished }: TestContext) {
  const prefix = `test-${task.id}`;
  const cluster = shared.beside(prefix);
  onTestFinished(() => cluster.reset());
  return {
    cluster,
    key: (name: string) => `${prefix}:${name}`,
    /** A network to the server, and the settings that use it. */
    network: async () => {
      const network = await FaultyNetwork.before(cluster.settings.url);
      onTestFinished(() => network.close());
      return { network, settings: { ...cluster.settings, url: network.url } };
    },
  };
}

/** So short that a test can wait for the end of a lease. */
const SHORT = { beatMs: 100, leaseMs: 3000, forgottenMs: 0, inspectMs: 300 };
/** How long to wait for facts. */
const PATIENT = { timeout: 60_000 };
/** A lease that a busy machine renews in time. */
const LONG = { beatMs: 1000, leaseMs: 21_000, forgottenMs: 2000, inspectMs: 3000 };

/** A tool that counts its runs, and waits until it is let go or stopped. */
function heldTool(idempotent: boolean) {
  const runs: number[] = [];
  const stopped: number[] = [];
  const open = new Map<number, () => void>();
  let isOpen = false;
  const tool = defineTool({
    name: 'work',
    idempotent,
    resources: { cpu: 0, memoryMb: 0, io: 'none' },
    run: ({ value }: { value: number }, { signal }) =>
      new Promise<number>((resolve, reject) => {
        runs.push(value);
        if (isOpen) resolve(value);
        else open.set(value, () => resolve(value));
        signal.addEventListener('abort', () => {
          stopped.push(value);
          reject(signal.reason);
        });
      }),
  });
  const finish = () => {
    isOpen = true;
    for (const end of open.values()) end();
  };
  return { tool, runs, stopped, finish };
}

/** A tool that counts its runs and ends at once. */
function countingTool(idempotent: boolean) {
  const runs: number[] = [];
  const tool = defineTool({
    name: 'work',
    idempotent,
    resources: { cpu: 0, memoryMb: 0, io: 'none' },
    run: async ({ value }: { value: number }) => {
      runs.push(value);
      await new Promise((resolve) => setTimeout(resolve, 5));
      return value;
    },
  });
  return { tool, runs };
}

function list(count: number) {
  return Array.from({ length: count }, (_, value) => ({
    id: `c${value}`,
    name: 'work',
    arguments: { value },
    retry: { maxRetries: 0 },
  }));
}

const values = (count: number) => Array.from({ length: count }, (_, value) => value);

describe.concurrent('connections', () => {
  test('that break again and again lose no call and repeat none', async (context) => {
    const { cluster, network } = ownCluster(context);
    const { tool, runs } = countingTool(false);
    const [ofWorker, ofCoordinator] = [await network(), await network()];
    await cluster.worker('a', [tool], { settings: ofWorker.settings });
    const { calls } = await cluster.coordinator([tool], {}, { settings: ofCoordinator.settings });
    const results = calls.executeParallel(list(500));
    for (let round = 1; round <= 6; round++) {
      await vi.waitFor(() => expect(runs.length).toBeGreaterThan(round * 60), PATIENT);
      (round % 2 === 0 ? ofWorker : ofCoordinator).network.interrupt();
    }
    const statuses = (await results).map(({ status }) => status);
    expect(statuses.filter((status) => status !== 'completed')).toEqual([]);
    expect(runs.sort((a, b) => a - b)).toEqual(values(500));
  });

  test('that fall silent are replaced before a lease ends, also that for requests to stop', async (context) => {
    const { cluster, network } = ownCluster(context);
    const { tool, runs, stopped, finish } = heldTool(false);
    const [ofWorker, ofCoordinator] = [await network(), await network()];
    await cluster.worker('a', [tool], { settings: ofWorker.settings, times: LONG });
    const { calls } = await cluster.coordinator(
      [tool],
      { times: LONG },
      { settings: ofCoordinator.settings },
    );
    const controller = new AbortController();
    const first = calls.executeParallel(list(4), { signal: controller.signal });
    await vi.waitFor(() => expect(runs.length).toBe(4), PATIENT);
    ofWorker.network.silence();
    ofCoordinator.network.silence();
    controller.abort();
    await vi.waitFor(() => expect(stopped.length).toBe(4), PATIENT);
    expect((await first).map(({ status }) => status)).toEqual(Array(4).fill('cancelled'));
    finish();
    const next = await calls.executeParallel(list(4));
    expect(next.map(({ status }) => status)).toEqual(Array(4).fill('completed'));
  });
});

describe.concurrent('a partition', () => {
  test('that outlasts the lease of a worker moves its calls; their late results are refused', async (context) => {
    const { cluster, network } = ownCluster(context);
    const [first, second] = [heldTool(true), heldTool(true)];
    const ofWorker = await network();
    await cluster.worker('a', [first.tool], { settings: ofWorker.settings, times: SHORT });
    const { cluster: link, calls } = await cluster.coordinator([first.tool], { times: SHORT });
    const results = calls.executeParallel(list(4));
    await vi.waitFor(() => expect(first.runs.length).toBe(4), PATIENT);
    await cluster.worker('b', [second.tool], { times: SHORT });
    ofWorker.network.hold();
    await vi.waitFor(() => expect(second.runs.length).toBe(4), PATIENT);
    // By then the worker had stopped by itself.
    expect(first.stopped.length).toBe(4);
    ofWorker.network.heal();
    await vi.waitFor(() => expect(link.workers.sort()).toEqual(['a', 'b']), PATIENT);
    // One for commands, one for messages, and one that waits for jobs: nothing is left of the first session.
    await vi.waitFor(() => expect(ofWorker.network.size).toBe(3), PATIENT);
    second.finish();
    expect((await results).map((end) => end.status === 'completed' && end.value)).toEqual(values(4));
  });

  test('that breaks the connections of a worker that joins again leaves it able to take work', async (context) => {
    const { cluster, network } = ownCluster(context);
    const { tool, runs } = countingTool(true);
    const ofWorker = await network();
    await cluster.worker('a', [tool], { settings: ofWorker.settings, times: SHORT });
    const { cluster: link, calls } = await cluster.coordinator([tool], { times: SHORT });
    await vi.waitFor(() => expect(link.workers).toEqual(['a']), PATIENT);
    ofWorker.network.hold();
    await vi.waitFor(() => expect(link.workers).toEqual([]), PATIENT);
    // As long as its new connections need to break, which they do before they are ready.
    await sleep(SHORT.leaseMs);
    ofWorker.network.heal();
    await vi.waitFor(() => expect(link.workers).toEqual(['a']), PATIENT);
    const results = await calls.executeParallel(list(30));
    expect(results.filter(({ status }) => status !== 'completed')).toEqual([]);
    expect(runs.length).toBe(30);
  });

  test('does not keep a worker that drains', async (context) => {
    const { cluster, network } = ownCluster(context);
    const { tool, runs, stopped } = heldTool(false);
    const ofWorker = await network();
    const worker = await cluster.worker('a', [tool], { settings: ofWorker.settings, times: SHORT });
    const { calls } = await cluster.coordinator([tool], { times: SHORT });
    const results = calls.executeParallel(list(1));
    await vi.waitFor(() => expect(runs).toEqual([0]), PATIENT);
    ofWorker.network.cut();
    await worker.drain();
    expect(stopped).toEqual([0]);
    expect(await results).toMatchObject([{ status: 'failed' }]);
  });

  test('of the coordinator lets workers go on, and it gets all results afterwards', async (context) => {
    const { cluster, key, network } = ownCluster(context);
    const { tool, runs, stopped, finish } = heldTool(false);
    const ofCoordinator = await network();
    await cluster.worker('a', [tool]);
    const { calls } = await cluster.coordinator(
      [tool],
      { times: SHORT },
      { settings: ofCoordinator.settings },
    );
    const results = calls.executeParallel(list(4));
    await vi.waitFor(() => expect(runs.length).toBe(4), PATIENT);
    ofCoordinator.network.cut();
    // Longer than its own lease.
    await vi.waitFor(async () => expect(await redis.exists(key('holder'))).toBe(0), PATIENT);
    finish();
    ofCoordinator.network.heal();
    expect((await results).map(({ status }) => status)).toEqual(Array(4).fill('completed'));
    expect([runs.length, stopped.length]).toEqual([4, 0]);
  });
});

describe.concurrent('a coordinator', () => {
  test('that was stopped while another took its workers gets them back when that one has left', async (context) => {
    const { cluster, network } = ownCluster(context);
    const { tool, runs, finish } = heldTool(true);
    const ofFirst = await network();
    await cluster.worker('a', [tool], { times: SHORT });
    const notes: string[] = [];
    const options = { times: SHORT, notify: (text: string) => notes.push(text) };
    const first = await cluster.coordinator([tool], options, { settings: ofFirst.settings });
    const results = first.calls.executeParallel(list(2));
    await vi.waitFor(() => expect(runs.length).toBe(2), PATIENT);
    ofFirst.network.cut();
    // It waits for the lease of the first.
    const second = await cluster.coordinator([tool], { times: SHORT });
    await vi.waitFor(() => expect(second.cluster.workers).toEqual(['a']), PATIENT);
    ofFirst.network.heal();
    await vi.waitFor(() => expect(first.cluster.workers).toEqual([]), PATIENT);
    expect(second.cluster.workers).toEqual(['a']);
    finish();
    await second.cluster.close();
    expect((await results).map(({ status }) => status)).toEqual(['completed', 'completed']);
  });

  test('that gets no message about any outcome still ends a batch', async (context) => {
    const { cluster } = ownCluster(context);
    const { tool, runs } = countingTool(false);
    await cluster.worker('a', [tool], { times: SHORT });
    const { cluster: link, calls } = await cluster.coordinator([tool], { times: SHORT });
    await (link as unknown as { subscriber: Redis }).subscriber.unsubscribe();
    const results = await calls.executeParallel(list(60));
    expect(results.filter(({ status }) => status !== 'completed')).toEqual([]);
    expect(runs.length).toBe(60);
  });

  test('whose messages to workers are all lost runs its calls through the queue, also single ones', async (context) => {
    const { cluster } = ownCluster(context);
    const { tool, runs } = countingTool(false);
    await cluster.worker('a', [tool], { times: SHORT });
    const { cluster: link, calls } = await cluster.coordinator([tool], { times: SHORT });
    const { redis } = (link as unknown as { registry: { redis: Redis } }).registry;
    const sent = vi.spyOn(redis, 'publish').mockResolvedValue(0);
    const [call] = list(1);
    for (let round = 0; round < 5; round++)
      expect(await calls.executeSingle(call!)).toMatchObject({ status: 'completed' });
    expect([runs.length, sent.mock.calls.length]).toEqual([5, 5]);
  });
});

describe.concurrent('a worker', () => {
  /** What a worker has announced, and how to replace it. */
  async function announced({ key: secret }: ClusterSettings, notes: string) {
    const signer = new Signer(secret);
    const [session] = await redis.hkeys(notes);
    const { scope, content } = parseMessage(await redis.hget(notes, session!)) as SignedMessage;
    const replace = (change: object) => {
      const changed = signer.sign(scope, JSON.stringify({ ...JSON.parse(content), ...change }));
      return redis.hset(notes, session!, JSON.stringify(changed));
    };
    return { session: session!, replace };
  }

  test('of another protocol version is named, gets no work, and is removed when it is gone', async (context) => {
    const { cluster, key } = ownCluster(context);
    const { tool, runs } = countingTool(true);
    const other = await cluster.worker('other', [tool], { times: SHORT });
    await vi.waitFor(async () => expect(await redis.hlen(key('notes'))).toBe(1), PATIENT);
    const { session, replace } = await announced(cluster.settings, key('notes'));
    await other.close();
    // It looks alive until its lease ends.
    await replace({ protocol: 99, isGone: false, held: undefined });
    const { workers } = await listWorkers(cluster.settings);
    expect(workers).toMatchObject([{ name: 'other', state: 'incompatible' }]);
    const notes: string[] = [];
    const { cluster: link, calls } = await cluster.coordinator([tool], {
      times: { ...SHORT, leaseMs: 6000 },
      notify: (text) => notes.push(text),
    });
    await vi.waitFor(
      () => expect(notes.filter((text) => text.includes('version 99')).length).toBe(1),
      PATIENT,
    );
    expect(link.workers).toEqual([]);
    await cluster.worker('same', [tool], { times: SHORT });
    expect(await calls.executeParallel(list(3))).toMatchObject(Array(3).fill({ status: 'completed' }));
    expect(runs.length).toBe(3);
    await vi.waitFor(async () => expect(await redis.hexists(key('notes'), session)).toBe(0), PATIENT);
  });

  test('is told that its coordinator speaks another version', async (context) => {
    const { cluster, key } = ownCluster(context);
    const notes: string[] = [];
    await cluster.worker('a', [], { times: SHORT, notify: (text) => notes.push(text) });
    await redis.set(key('protocol'), '99');
    await redis.set(key('holder'), 'another process');
    await redis.set(key('epoch'), String(Date.now() + 1000));
    await vi.waitFor(() => expect(notes.join()).toContain('version 99'), PATIENT);
  });

  test('that offers what cannot be is ignored with a reason', async (context) => {
    const { cluster } = ownCluster(context);
    const { tool } = countingTool(true);
    const notes: string[] = [];
    await cluster.worker('a', [tool], { times: SHORT, capacity: { concurrency: -3 } });
    await cluster.worker('b', [tool], { times: SHORT });
    const { cluster: link, calls } = await cluster.coordinator([tool], {
      times: SHORT,
      notify: (text) => notes.push(text),
    });
    expect(await calls.executeParallel(list(3))).toMatchObject(Array(3).fill({ status: 'completed' }));
    await vi.waitFor(
      () => expect(notes.filter((text) => text.includes('Worker a ')).length).toBe(1),
      PATIENT,
    );
    expect(link.workers).toEqual(['b']);
  });

  test('that offers more than it has breaks no limit of its own, and its calls move on', async (context) => {
    const { cluster } = ownCluster(context);
    const [liar, honest] = [countingTool(false), countingTool(false)];
    const config = defaultConfig();
    const one = { ...config, limits: { ...config.limits, maxConcurrency: 1 } };
    await cluster.worker('liar', [liar.tool], { times: SHORT, config: one, capacity: { concurrency: 500 } });
    await cluster.worker('honest', [honest.tool], { times: SHORT });
    const { calls, cluster: link } = await cluster.coordinator([liar.tool], { times: SHORT });
    await vi.waitFor(() => expect(link.workers.length).toBe(2), PATIENT);
    const results = await calls.executeParallel(list(200));
    expect(results.filter(({ status }) => status !== 'completed')).toEqual([]);
    expect([...liar.runs, ...honest.runs].sort((a, b) => a - b)).toEqual(values(200));
  });
});

/** These change the server for all. */
describe('a server', () => {
  test('that is full takes no new calls, keeps the running ones, and goes on when there is space', async (context) => {
    const { cluster, key } = ownCluster(context);
    const { tool, runs, finish } = heldTool(false);
    await cluster.worker('a', [tool], { times: SHORT });
    const notes: string[] = [];
    const { calls, cluster: link } = await cluster.coordinator([tool], {
      times: SHORT,
      notify: (text) => notes.push(text),
    });
    const running = calls.executeParallel(list(4));
    await vi.waitFor(() => expect(runs.length).toBe(4), PATIENT);
    context.onTestFinished(() => redis.config('SET', 'maxmemory', '0').then(() => {}));
    await redis.config('SET', 'maxmemory', '1');
    const next = calls.executeParallel(list(8));
    await vi.waitFor(() => expect(notes.filter((text) => text.includes('OOM')).length).toBe(1), PATIENT);
    // The worker is heard for longer than a lease.
    const heardAt = async () => Number((await redis.hvals(key('heard')))[0]);
    const before = await heardAt();
    await vi.waitFor(async () => expect(await heardAt()).toBeGreaterThan(before + SHORT.leaseMs), PATIENT);
    expect(link.workers).toEqual(['a']);
    finish();
    expect((await running).map(({ status }) => status)).toEqual(Array(4).fill('completed'));
    expect(runs.length).toBe(4);
    await redis.config('SET', 'maxmemory', '0');
    expect((await next).map(({ status }) => status)).toEqual(Array(8).fill('completed'));
    expect(runs.length).toBe(12);
    // It is said once, and so is its end.
    expect(notes.filter((text) => text.includes('Redis server')).length).toBe(2);
  });

  test('that forgets everything makes no call run twice, and none is lost', async (context) => {
    const { cluster } = ownCluster(context);
    const { tool, runs } = countingTool(true);
    await cluster.worker('a', [tool], { times: SHORT });
    const { calls } = await cluster.coordinator([tool], { times: SHORT });
    const results = calls.executeParallel(list(1000));
    for (const count of [200, 500, 800]) {
      await vi.waitFor(() => expect(runs.length).toBeGreaterThan(count), PATIENT);
      await redis.flushall();
    }
    expect((await results).filter(({ status }) => status !== 'completed')).toEqual([]);
    expect(new Set(runs).size).toBe(1000);
  });
});
