import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { BatchExecutor } from '../../src/batch/executor/batch-executor.ts';
import type { BatchEvent } from '../../src/batch/run/events.ts';
import { listWorkers } from '../../src/cluster/list-workers.ts';
import { Signer } from '../../src/cluster/signature.ts';
import type { DeliveredCalls } from '../../src/cluster/work.ts';
import { defaultConfig } from '../../src/config/config.ts';
import { openStore } from '../../src/store/sqlite-store.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { OwnCluster } from './support/cluster.ts';

let cluster: OwnCluster;
beforeAll(async () => {
  cluster = await OwnCluster.start();
});
afterEach(() => cluster.reset());
afterAll(() => cluster.stop());

const double = defineTool({
  name: 'double',
  idempotent: true,
  run: ({ value }: { value: number }) => ({ doubled: value * 2 }),
});

/** A tool that runs until the test, or a signal, ends it. */
function heldTool(name = 'held') {
  const starts: number[] = [];
  const stops: number[] = [];
  const open: (() => void)[] = [];
  const tool = defineTool({
    name,
    run: ({ value }: { value: number }, { signal }) =>
      new Promise<number>((resolve, reject) => {
        starts.push(value);
        open.push(() => resolve(value));
        signal.addEventListener('abort', () => {
          stops.push(value);
          reject(signal.reason);
        });
      }),
  });
  const finish = () => {
    for (const end of open.splice(0)) end();
  };
  return { tool, starts, stops, finish };
}

function oneSlot() {
  const config = defaultConfig();
  return { ...config, limits: { ...config.limits, maxConcurrency: 1 } };
}

describe('a cluster', () => {
  test('runs calls on its workers, with references between them, and leaves nothing in Redis but the last notes', async () => {
    const ran = { a: 0, b: 0 };
    const counting = (name: 'a' | 'b') =>
      defineTool({
        name: 'double',
        run: ({ value }: { value: number }) => {
          ran[name]++;
          return { doubled: value * 2 };
        },
      });
    await cluster.worker('a', [counting('a')]);
    await cluster.worker('b', [counting('b')]);
    const notes: string[] = [];
    const { calls } = await cluster.coordinator([double], { notify: (text) => notes.push(text) });
    await expect.poll(() => notes.filter((text) => text.includes('joined')).length).toBe(2);
    const list = Array.from({ length: 40 }, (_, value) => ({
      id: `c${value}`,
      name: 'double',
      arguments: { value: value === 0 ? 1 : { $from: `c${value >> 1}`, path: '/doubled' } },
      ...(value > 0 && value >> 1 === 0 && { arguments: { value: 3 } }),
    }));
    const results = await calls.executeParallel(list);
    expect(results.map(({ status }) => status)).toEqual(list.map(() => 'completed'));
    expect(ran.a + ran.b).toBe(40);
    expect(Math.min(ran.a, ran.b)).toBeGreaterThan(0);
    await cluster.reset();
    // A worker that leaves is removed with its queue by the next coordinator at the latest.
    await cluster.coordinator([]);
    const redis = new Redis(cluster.settings.url);
    await expect
      .poll(async () =>
        (await redis.keys('test:*')).filter((key) => !/:(epoch|holder|protocol|fenced)$/.test(key)),
      )
      .toEqual([]);
    redis.disconnect();
  });

  test('passes on failures with code and reason, progress, and results of 5 MB', async () => {
    const large = 'x'.repeat(5 * 2 ** 20);
    const tools = [
      defineTool({
        name: 'work',
        run: async ({ kind }: { kind: string }, { report }) => {
          if (kind === 'fail') throw Object.assign(new Error('no such thing'), { code: 'ENOENT' });
          if (kind === 'large') return large;
          report(0.5, 'half');
          return undefined;
        },
      }),
    ];
    await cluster.worker('a', tools);
    const { calls } = await cluster.coordinator(tools);
    const steps: unknown[] = [];
    const unlisten = calls.engine.progress.listen((update) => {
      if (update.type === 'progress') steps.push([update.progress, update.step]);
    });
    const kinds = ['fail', 'large', 'progress'].map((kind) => ({
      id: kind,
      name: 'work',
      arguments: { kind },
    }));
    const [failed, big, quiet] = await calls.executeParallel(kinds);
    unlisten();
    expect(failed).toMatchObject({
      status: 'failed',
      reason: 'error',
      error: { message: 'no such thing', code: 'ENOENT' },
    });
    expect(big).toMatchObject({ status: 'completed' });
    expect(big!.status === 'completed' && big!.value === large).toBe(true);
    expect(quiet).toMatchObject({ status: 'completed', value: undefined });
    expect(steps).toEqual([[0.5, 'half']]);
    await expect.poll(() => readdirSync(join(cluster.folder, 'artifacts'))).toEqual([]);
  });

  test('a worker does not take a coordinator that has left for a new one', async () => {
    await cluster.coordinator([]);
    await cluster.reset();
    const notes: string[] = [];
    await cluster.worker('a', [], { notify: (text) => notes.push(text) });
    await expect.poll(async () => (await listWorkers(cluster.settings)).workers).toHaveLength(1);
    const link = await cluster.coordinator([]);
    await expect.poll(() => link.cluster.workers).toEqual(['a']);
    await expect.poll(() => notes.length).toBeGreaterThan(0);
    expect(notes).toEqual(['A coordinator has connected.']);
  });

  test('stops a cancelled call on the other machine', async () => {
    const { tool, starts, stops } = heldTool();
    await cluster.worker('a', [tool]);
    const { calls } = await cluster.coordinator([tool]);
    const controller = new AbortController();
    const result = calls.executeSingle(
      { name: 'held', arguments: { value: 1 } },
      { signal: controller.signal },
    );
    await vi.waitFor(() => expect(starts).toEqual([1]), { timeout: 60_000 });
    controller.abort();
    expect((await result).status).toBe('cancelled');
    await vi.waitFor(() => expect(stops).toEqual([1]), { timeout: 60_000 });
  });

  test('places calls by label, and explains what is missing', async () => {
    await cluster.worker('plain', [double]);
    const { calls } = await cluster.coordinator([double]);
    let group = '';
    const call = { id: 'c', name: 'double', arguments: { value: 1 }, on: { gpu: true } };
    const result = calls.executeParallel([call], { onGroup: (name) => (group = name) });
    await vi.waitFor(
      () =>
        expect(calls.engine.explain(`${group}/c`)).toMatchObject({
          shortage: { lacks: 'label', label: 'gpu' },
        }),
      { timeout: 60_000 },
    );
    await cluster.worker('fast', [double], { labels: { gpu: true } });
    expect(await result).toMatchObject([{ status: 'completed' }]);
  });

  test('says of each attempt of a batch which worker has it, live and afterwards', async () => {
    const { tool, starts, finish } = heldTool();
    const named = defineTool({
      name: 'named',
      resources: ({ lock }: { lock: number }) => ({ exclusive: [`lock ${lock}`] }),
      run: () => 'x',
    });
    await cluster.worker('w1', [tool, named]);
    const { calls } = await cluster.coordinator([tool, named]);
    const store = await openStore(join(cluster.folder, 'volley.db'));
    const executor = new BatchExecutor({ coordinator: calls, store });
    const events: BatchEvent[] = [];
    executor.follow((event) => events.push(event));
    const ask = async (request: object) => (await executor.handle({ action: 'status', ...request })).data;
    try {
      const tasks = [
        { id: 'held', function: 'held', params: { value: 1 } },
        // Its needs are known late: a child of its execution is placed.
        { id: 'late', function: 'named', params: { lock: { $from: 'held' } } },
        { id: 'gone', function: 'held', params: { value: 2 }, on: { worker: 'w9' } },
      ];
      await executor.handle({ action: 'add_batch', tasks });
      await executor.handle({ action: 'start' });
      await vi.waitFor(() => expect(starts).toEqual([1]), { timeout: 60_000 });
      const status = await ask({});
      expect(status).toMatchObject({ running: [{ id: 'held', worker: 'w1' }] });
      // Each worker limits itself, so that more workers run more.
      expect(status).not.toHaveProperty('max_concurrent');
      const waiting = await executor.explain('default', 'gone');
      expect(waiting).toContain('w9');
      finish();
      await vi.waitFor(async () => expect((await store.task('default', 'late'))?.status).toBe('completed'));
      expect(await executor.report('default', 'held')).toMatchObject({ status: 'completed', worker: 'w1' });
      expect(await store.attemptsOf('default', 'late')).toMatchObject([{ attempt: 1, worker: 'w1' }]);
      const placed = events.flatMap((event) =>
        event.type === 'placed' ? [`${event.id} ${event.worker}`] : [],
      );
      expect(placed).toEqual(['held w1', 'late w1']);
    } finally {
      await executor.close({ graceMs: 0 });
      await store.close();
    }
  });

  test('runs discovered tools, such as those of MCP servers, where they were discovered', async () => {
    await cluster.worker('a', [double]);
    const { cluster: link, calls } = await cluster.coordinator([double]);
    await vi.waitFor(() => expect(link.workers).toEqual(['a']), { timeout: 60_000 });
    const nothing = async () => {};
    calls.addSource({ name: 'files', placeholder: () => undefined, discover: nothing, close: nothing });
    calls.register(defineTool({ name: 'files.read', run: () => 'here' }));
    const result = await calls.executeSingle({ name: 'files.read', arguments: {} });
    expect(result).toMatchObject({ status: 'completed', value: 'here' });
  });

  test('gives a call only to workers whose tool has the same schema', async () => {
    const other = defineTool({
      name: 'double',
      input: { type: 'object', properties: { value: { type: 'string' } } },
      run: () => 'the wrong tool',
    });
    await cluster.worker('old', [other]);
    const { calls } = await cluster.coordinator([double]);
    const result = calls.executeSingle({ name: 'double', arguments: { value: 1 } });
    await cluster.worker('new', [double]);
    expect(await result).toMatchObject({ value: { doubled: 2 } });
  });

  test('gives a call that uses files only to workers that have the same files', async () => {
    const reading = defineTool({
      name: 'reading',
      readOnly: true,
      cache: () => ({ files: [] }),
      run: ({ from }: { from?: string }) => from ?? 'read',
    });
    const settings = { ...cluster.settings, share: 'other files' };
    await cluster.worker('a', [reading, double], { settings });
    const { cluster: link, calls } = await cluster.coordinator([reading, double]);
    await vi.waitFor(() => expect(link.workers).toEqual(['a']), { timeout: 60_000 });
    expect(await calls.executeSingle({ name: 'double', arguments: { value: 1 } })).toMatchObject({
      value: { doubled: 2 },
    });
    let group = '';
    const reads = calls.executeParallel([{ id: 'c', name: 'reading', arguments: {} }], {
      onGroup: (name) => (group = name),
    });
    await vi.waitFor(() =>
      expect(calls.engine.explain(`${group}/c`)).toMatchObject({ shortage: { label: 'share' } }),
    );
    await cluster.worker('b', [reading]);
    expect(await reads).toMatchObject([{ status: 'completed' }]);
    expect(link.list().map(({ name, ended }) => [name, ended.completed])).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
  });

  test('lets a draining worker finish its calls and gives it no others', async () => {
    const first = heldTool();
    const second = heldTool();
    const a = await cluster.worker('a', [first.tool]);
    const { cluster: link, calls } = await cluster.coordinator([first.tool]);
    const running = calls.executeSingle({ name: 'held', arguments: { value: 1 } });
    await vi.waitFor(() => expect(first.starts).toEqual([1]), { timeout: 60_000 });
    const drained = a.drain();
    await vi.waitFor(() => expect(link.workers).toEqual([]), { timeout: 60_000 });
    const next = calls.executeSingle({ name: 'held', arguments: { value: 2 } });
    await cluster.worker('b', [second.tool]);
    await vi.waitFor(() => expect(second.starts).toEqual([2]), { timeout: 60_000 });
    first.finish();
    second.finish();
    expect(await Promise.all([running, next])).toMatchObject([{ value: 1 }, { value: 2 }]);
    await drained;
  });

  test('keeps short calls at hand on a worker, within its limits, and takes them back if they would wait', async () => {
    let running = 0;
    let most = 0;
    let starts = 0;
    let finish = () => {};
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const mixed = (name: string) =>
      defineTool({
        name: 'mixed',
        resources: { cpu: 0, memoryMb: 0, io: 'none' },
        run: async ({ isLong }: { isLong: boolean }) => {
          most = Math.max(most, ++running);
          starts++;
          if (isLong) await held;
          running--;
          return name;
        },
      });
    const one = { capacity: { concurrency: 1 }, config: oneSlot() };
    await cluster.worker('a', [mixed('a')], one);
    const { calls } = await cluster.coordinator([mixed('')]);
    const list = (count: number, isLong: boolean) =>
      Array.from({ length: count }, (_, index) => ({
        id: `c${index}`,
        name: 'mixed',
        arguments: { isLong },
        retry: { maxRetries: 0 },
      }));
    const short = await calls.executeParallel(list(200, false));
    expect(short.filter(({ status }) => status === 'completed').length).toBe(200);
    expect(most).toBe(1);
    // They look as short as the others when they are assigned. Not idempotent: only one that did not begin may move.
    const long = calls.executeParallel(list(2, true));
    await vi.waitFor(() => expect(starts).toBe(201), { timeout: 60_000 });
    await cluster.worker('b', [mixed('b')], one);
    await vi.waitFor(() => expect(starts).toBe(202), { timeout: 60_000 });
    finish();
    const ends = await long;
    expect(ends.map((end) => end.status === 'completed' && end.value).sort()).toEqual(['a', 'b']);
  });

  test('is refused to a second coordinator while the first is at work', async () => {
    await cluster.coordinator([]);
    await expect(
      cluster.coordinator([], { times: { beatMs: 50, leaseMs: 500, forgottenMs: 0, inspectMs: 100 } }),
    ).rejects.toMatchObject({ code: 'CLUSTER_BUSY' });
  });

  test('refuses a worker whose name is taken', async () => {
    await cluster.worker('a', []);
    await expect(cluster.worker('a', [])).rejects.toMatchObject({ code: 'CLUSTER_NAME_TAKEN' });
  });
});

test('a worker that says what makes no sense harms nobody but itself', async () => {
  const { tool, starts, finish } = heldTool();
  await cluster.worker('a', [tool]);
  const notes: string[] = [];
  const { cluster: link, calls } = await cluster.coordinator([tool], { notify: (text) => notes.push(text) });
  const redis = new Redis(cluster.settings.url);
  const session = (await redis.hkeys('test:notes'))[0]!;
  const { Queue } = await import('bullmq');
  const sent = vi.spyOn(Queue.prototype, 'add');
  const real = calls.executeSingle({ name: 'held', arguments: { value: 1 } });
  await vi.waitFor(() => expect([starts, sent.mock.calls.length]).toEqual([[1], 1]), { timeout: 60_000 });
  const { scope } = (sent.mock.calls[0]![1] as DeliveredCalls).calls[0]!;
  sent.mockRestore();
  const signer = new Signer(cluster.settings.key);
  const say = (kind: 'outcome' | 'progress', content: string) => {
    const message = signer.sign({ ...scope, session, kind }, content);
    return redis.publish('test:inbox', JSON.stringify(kind === 'outcome' ? [message] : message));
  };
  for (const content of [
    '{',
    'null',
    '1',
    '{}',
    '{"status":"won"}',
    '{"status":"completed","durationMs":"x"}',
  ])
    await say('outcome', content);
  for (const content of ['{', 'null', '{"progress":7}', '{"step":{}}', '{"log":[]}'])
    await say('progress', content);
  const mad = { kind: 'note', session: 'mad.1', key: '', epoch: link.epoch, expiresAt: 0 } as const;
  for (const content of ['{', 'null', '{"protocol":1}', '{"protocol":1,"name":"mad","held":7}']) {
    await redis.hset('test:notes', 'mad.1', JSON.stringify(signer.sign(mad, content)));
    await redis.hset('test:offers', 'mad.1', JSON.stringify(signer.sign(mad, content)));
    await redis.hset('test:heard', 'mad.1', String(Date.now()));
    expect(await listWorkers(cluster.settings)).toMatchObject({
      workers: [{ name: 'a', state: 'ready' }],
      strangers: [],
    });
  }
  await expect.poll(() => notes.filter((text) => text.includes('mad')).length).toBeGreaterThan(0);
  expect(link.workers).toEqual(['a']);
  finish();
  expect(await real).toMatchObject({ status: 'completed', value: 1 });
  await redis.hdel('test:notes', 'mad.1');
  redis.disconnect();
});

describe('somebody who can write to Redis but has no key', () => {
  test('cannot add a worker, run a tool or forge a result', async () => {
    const { tool, starts, finish } = heldTool();
    await cluster.worker('a', [tool]);
    const notes: string[] = [];
    const { cluster: link, calls } = await cluster.coordinator([tool], {
      notify: (text) => notes.push(text),
    });
    const redis = new Redis(cluster.settings.url);
    const session = (await redis.hkeys('test:notes'))[0]!;
    const { Queue } = await import('bullmq');
    const queue = new Queue(session, { connection: redis as never, prefix: 'test:q' });
    // It sees everything, also the real assignment.
    const sent = vi.spyOn(Queue.prototype, 'add');
    const real = calls.executeSingle({ name: 'held', arguments: { value: 1 } });
    await vi.waitFor(() => expect([starts, sent.mock.calls.length]).toEqual([[1], 1]), { timeout: 60_000 });
    const data = sent.mock.calls[0]![1] as DeliveredCalls;
    sent.mockRestore();

    const wrong = new Signer('another key altogether');
    const { scope, content } = data.calls[0]!;
    // Who repeats it later, when the worker may have forgotten it, is too late.
    const [serverSeconds] = await redis.time();
    expect(scope.expiresAt - Number(serverSeconds) * 1000).toBeLessThan(30_000);
    const outcome = JSON.stringify(wrong.sign({ ...scope, kind: 'outcome' }, '{"status":"completed"}'));
    // Forged results, a forged assignment, the real assignment again, and a forged worker.
    await redis.publish('test:inbox', `[${outcome}]`);
    await redis.hset(`test:q:${session}:outcomes`, scope.key, outcome);
    const forged = wrong.sign({ ...scope, key: 'forged-1' }, content);
    for (const message of [forged, data.calls[0]!])
      await redis.publish(`test:to:${session}`, JSON.stringify(message));
    await queue.add('calls', { calls: [forged] });
    await queue.add('calls', data);
    const note = {
      name: 'evil',
      session: 'evil.1',
      beat: 1,
      epoch: link.epoch,
      held: [],
      isDraining: false,
      isGone: false,
    };
    const evil = { kind: 'note', session: 'evil.1', key: '', epoch: link.epoch, expiresAt: 0 } as const;
    await redis.hset('test:notes', 'evil.1', JSON.stringify(wrong.sign(evil, JSON.stringify(note))));
    await redis.hset('test:heard', 'evil.1', String(Date.now()));

    await expect.poll(() => notes.filter((text) => text.includes('evil.1')).length).toBe(1);
    // Both jobs were taken, and nothing came of them.
    await expect.poll(async () => (await queue.getJobs()).length).toBe(0);
    expect(link.workers).toEqual(['a']);
    expect(starts).toEqual([1]);
    finish();
    expect(await real).toMatchObject({ status: 'completed', value: 1 });
    await redis.hdel('test:notes', 'evil.1');
    redis.disconnect();
  });
});

describe('a Redis server', () => {
  test('that is not there is reported without the password of its address', async () => {
    const url = 'redis://user:secret@127.0.0.1:1';
    const { ClusterRegistry } = await import('../../src/cluster/registry.ts');
    const refused = await ClusterRegistry.connect({ ...cluster.settings, url }).catch(
      (error: unknown) => error,
    );
    expect(refused).toMatchObject({ code: 'CLUSTER_UNREACHABLE' });
    expect(String(refused)).not.toContain('secret');
  });
});
