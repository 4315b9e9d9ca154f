import {
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { VolleyConfig } from '../../src/config/config.ts';
import { ParallelToolCoordinator } from '../../src/coordinator/coordinator.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { CacheDeclaration, Tool } from '../../src/tools/tool.ts';
import { HeldCalls, openRig, type Rig } from './support/rig.ts';

/** Counts its calls by the path that they are given. */
function counting(cache: CacheDeclaration<{ path: string }> | undefined, fields: object = {}) {
  const calls: string[] = [];
  const tool = defineTool<{ path: string }>({
    name: 'measure',
    readOnly: true,
    ...(cache !== undefined && { cache }),
    run: ({ path }) => {
      calls.push(path);
      return { path, length: 3 };
    },
    ...fields,
  }) as Tool;
  return { tool, calls };
}

const byFile: CacheDeclaration<{ path: string }> = ({ path }) => ({ files: [path] });
const measure = (id: string, path: string) => ({ id, function: 'measure', params: { path } });

let runs = 0;

/** Runs tasks as a batch of their own. Returns its name and how many results came from the cache. */
async function run({ ask, store }: Rig, tasks: readonly object[], options: object = {}) {
  const batch = `run-${++runs}`;
  await ask('add_batch', { batch, tasks });
  const { data } = await ask('start', { batch, wait: true, ...options });
  const { cached } = (await store.batch(batch))!;
  expect(data['cached'] ?? 0).toBe(cached);
  return { batch, cached };
}

async function cachedIn(rig: Rig, tasks: readonly object[], options: object = {}): Promise<number> {
  return (await run(rig, tasks, options)).cached;
}

describe('a function that declares what it reads', () => {
  it('is answered from the cache until one of its files changes', async () => {
    const { tool, calls } = counting(byFile);
    const rig = await openRig([tool]);
    for (const name of ['a', 'b', 'c']) writeFileSync(join(rig.folder, name), name);
    const tasks = ['a', 'b', 'c'].map((name) => measure(name, name));
    expect(await cachedIn(rig, tasks)).toBe(0);
    const second = await run(rig, tasks);
    expect([second.cached, [...calls].sort()]).toEqual([3, ['a', 'b', 'c']]);
    expect(await rig.store.result(second.batch, 'b')).toBe('{"path":"b","length":3}');
    writeFileSync(join(rig.folder, 'b'), 'B');
    expect([await cachedIn(rig, tasks), calls.slice(3)]).toEqual([2, ['b']]);
    // What it was before is known, too.
    writeFileSync(join(rig.folder, 'b'), 'b');
    expect([await cachedIn(rig, tasks), calls.length]).toEqual([3, 4]);
  });

  it('runs again if its arguments differ', async () => {
    const { tool, calls } = counting({});
    const rig = await openRig([tool]);
    await run(rig, [measure('a', 'x')]);
    expect([await cachedIn(rig, [measure('a', 'y')]), await cachedIn(rig, [measure('b', 'x')])]).toEqual([
      0, 1,
    ]);
    expect(calls).toEqual(['x', 'y']);
  });

  it('runs again when a file appears that was missing, and when one disappears', async () => {
    const { tool, calls } = counting({ files: ['a', 'settings/b'] });
    const rig = await openRig([tool]);
    const tasks = [measure('t', 'x')];
    await run(rig, tasks);
    expect(await cachedIn(rig, tasks)).toBe(1);
    writeFileSync(join(rig.folder, 'a'), '');
    expect(await cachedIn(rig, tasks)).toBe(0);
    mkdirSync(join(rig.folder, 'settings'));
    expect(await cachedIn(rig, tasks)).toBe(1);
    writeFileSync(join(rig.folder, 'settings/b'), '');
    expect(await cachedIn(rig, tasks)).toBe(0);
    rmSync(join(rig.folder, 'settings'), { recursive: true });
    expect([await cachedIn(rig, tasks), calls.length]).toEqual([1, 3]);
  });

  it.each([
    ['names', { rename: 0, grow: 1, edit: 1, deep: 1, skipped: 1, other: 1 }],
    ['sizes', { rename: 0, grow: 0, edit: 1, deep: 1, skipped: 1, other: 1 }],
    ['contents', { rename: 0, grow: 0, edit: 0, deep: 1, skipped: 1, other: 1 }],
  ] as const)('runs again when what it reads of a folder changes: %s', async (reads, expected) => {
    const { tool } = counting({
      folders: [{ path: 'src', glob: '*.ts', depth: 2, skip: ['node_modules'], reads }],
    });
    const rig = await openRig([tool]);
    const at = (path: string) => join(rig.folder, 'src', path);
    mkdirSync(at('in/deep'), { recursive: true });
    mkdirSync(at('node_modules'));
    writeFileSync(at('a.ts'), 'aa');
    writeFileSync(at('in/b.ts'), 'bb');
    const tasks = [measure('t', 'x')];
    const cachedAfter = async (change: () => void) => {
      await run(rig, tasks);
      change();
      return cachedIn(rig, tasks);
    };
    expect({
      rename: await cachedAfter(() => renameSync(at('in/b.ts'), at('in/c.ts'))),
      grow: await cachedAfter(() => writeFileSync(at('a.ts'), 'aaa')),
      edit: await cachedAfter(() => writeFileSync(at('a.ts'), 'xyz')),
      deep: await cachedAfter(() => writeFileSync(at('in/deep/d.ts'), '')),
      skipped: await cachedAfter(() => writeFileSync(at('node_modules/e.ts'), '')),
      other: await cachedAfter(() => writeFileSync(at('f.txt'), '')),
    }).toEqual(expected);
  });

  it('notices a change that keeps the size and the time of a file', async () => {
    const { tool } = counting(byFile);
    const rig = await openRig([tool]);
    const file = join(rig.folder, 'a');
    const old = new Date('2020-01-01');
    writeFileSync(file, 'aaaa');
    utimesSync(file, old, old);
    const tasks = [measure('t', 'a')];
    await run(rig, tasks);
    expect(await cachedIn(rig, tasks)).toBe(1);
    writeFileSync(file, 'bbbb');
    utimesSync(file, old, old);
    expect(statSync(file).mtime).toEqual(old);
    expect(await cachedIn(rig, tasks)).toBe(0);
  });

  it('is not cached if a file changes while it runs, neither as it was nor as it is', async () => {
    const held = new HeldCalls();
    const tool = { ...(held.tool() as Tool) };
    const cached = defineTool<{ key: string; path: string }>({
      name: 'held',
      readOnly: true,
      cache: ({ path }) => ({ files: [path] }),
      run: tool.run as never,
    }) as Tool;
    const rig = await openRig([cached]);
    const file = join(rig.folder, 'a');
    writeFileSync(file, 'before');
    const call = (key: string) => ({ id: 't', function: 'held', params: { key: 'k', path: 'a' }, name: key });
    const first = run(rig, [call('first')]);
    await held.started('k');
    writeFileSync(file, 'after');
    held.finish('k', 1);
    await first;
    expect(await cachedIn(rig, [call('after')])).toBe(0);
    writeFileSync(file, 'before');
    expect(await cachedIn(rig, [call('before')])).toBe(0);
    expect(held.begun).toHaveLength(3);
  });

  it('is never cached when it fails, and a retry of it runs', async () => {
    let calls = 0;
    const flaky = defineTool({
      name: 'flaky',
      readOnly: true,
      cache: {},
      run: () => {
        if (++calls === 1) throw new Error('not yet');
        return calls;
      },
    }) as Tool;
    const rig = await openRig([flaky]);
    const { batch } = await run(rig, [{ id: 't', function: 'flaky' }]);
    expect(await rig.standing(batch)).toEqual(['t failed error: not yet']);
    await rig.ask('retry', { batch });
    await rig.ask('start', { batch, wait: true });
    expect([await rig.store.result(batch, 't'), (await rig.store.batch(batch))?.cached]).toEqual(['2', 0]);
    expect([await cachedIn(rig, [{ id: 't', function: 'flaky' }]), calls]).toEqual([1, 2]);
  });

  it('runs again with force, whose result is kept, and without the cache, which keeps nothing', async () => {
    const { tool, calls } = counting({});
    const rig = await openRig([tool]);
    const tasks = [measure('t', 'x')];
    await run(rig, tasks, { cache: false });
    expect(await rig.store.cacheUse()).toEqual([]);
    await run(rig, tasks, { force: true });
    expect(await rig.store.cacheUse()).toMatchObject([{ function: 'measure', results: 1 }]);
    expect(await cachedIn(rig, tasks, { force: true })).toBe(0);
    expect(await cachedIn(rig, tasks, { cache: false })).toBe(0);
    expect([await cachedIn(rig, tasks), calls.length]).toEqual([1, 4]);
  });

  it('is not cached where the configuration says so', async () => {
    const { tool } = counting({});
    const off = (config: VolleyConfig) => ({ ...config, cache: { ...config.cache, enabled: false } });
    const rig = await openRig([tool], off);
    await run(rig, [measure('t', 'x')]);
    expect(await cachedIn(rig, [measure('t', 'x')])).toBe(0);
  });

  it('is not cached if it declares nothing, or nothing for this call', async () => {
    const { tool, calls } = counting(({ path }) => (path === 'secret' ? undefined : {}));
    const plain = defineTool({ name: 'plain', readOnly: true, run: () => 1 }) as Tool;
    const rig = await openRig([tool, plain]);
    const tasks = [measure('a', 'secret'), measure('b', 'x'), { id: 'c', function: 'plain' }];
    await run(rig, tasks);
    expect([await cachedIn(rig, tasks), calls.length]).toEqual([1, 3]);
  });

  it.each([
    ['files outside the roots', () => ({ files: ['/etc/hostname'] })],
    ['a folder in place of a file', () => ({ files: ['folder'] })],
    ['more than 64 MB', () => ({ files: ['huge'] })],
  ])('runs uncached if it reads %s', async (_, cache) => {
    const { tool, calls } = counting(cache);
    const rig = await openRig([tool]);
    mkdirSync(join(rig.folder, 'folder'));
    writeFileSync(join(rig.folder, 'huge'), Buffer.alloc(64 * 2 ** 20 + 1));
    await run(rig, [measure('t', 'x')]);
    expect([await cachedIn(rig, [measure('t', 'x')]), calls.length]).toEqual([0, 2]);
  });

  it.each([
    ['a promise', () => Promise.resolve({ files: [] })],
    ['a misspelt field', () => ({ file: ['a'] })],
    [
      'an error',
      () => {
        throw new Error('no');
      },
    ],
  ])('fails with INVALID_TOOL if its declaration returns %s', async (_, cache) => {
    const { tool } = counting(cache as never);
    const rig = await openRig([tool]);
    const { batch } = await run(rig, [measure('t', 'x')]);
    expect(await rig.standing(batch)).toEqual(['t failed error: INVALID_TOOL']);
  });

  it('is not cached if JSON would change its result, or if that is too large', async () => {
    const values = [new Map([[1, 2]]), { at: new Date(0) }, 'x'.repeat(4 * 2 ** 20)];
    const odd = defineTool<{ index: number }>({
      name: 'odd',
      readOnly: true,
      cache: {},
      run: ({ index }) => values[index],
    }) as Tool;
    const rig = await openRig([odd]);
    const tasks = values.map((_, index) => ({ id: `t${index}`, function: 'odd', params: { index } }));
    await run(rig, tasks);
    expect(await cachedIn(rig, tasks)).toBe(0);
  });

  it('runs again when its own code or version changes, or the limits of the file tools', async () => {
    const { tool } = counting({ version: '1' });
    const rig = await openRig([tool]);
    const tasks = [measure('t', 'x')];
    const replace = (next: Tool) => {
      rig.coordinator.unregister('measure');
      rig.coordinator.register(next);
    };
    await run(rig, tasks);
    replace(counting({ version: '2' }).tool);
    expect(await cachedIn(rig, tasks)).toBe(0);
    replace(counting({ version: '2' }, { run: () => 'another' }).tool);
    expect(await cachedIn(rig, tasks)).toBe(0);
    replace(counting({ version: '1' }).tool);
    expect(await cachedIn(rig, tasks)).toBe(1);
  });

  it('answers calls whose arguments are results of others, items of groups, and calls of programs', async () => {
    const { tool, calls } = counting({});
    const rig = await openRig([tool]);
    const code = `const found = await Promise.all(['p', 'q'].map((path) => tools.measure({ path })));
      return found.map(({ path }) => path).join('');`;
    const tasks = [
      measure('first', 'x'),
      { id: 'second', function: 'measure', params: { path: { $from: 'first', path: '/path' } } },
      { id: 'each', function: 'measure', params: { path: { $expr: 'item' } }, for_each: ['y', 'z'] },
      { id: 'program', function: 'run_program', params: { code } },
    ];
    await run(rig, tasks);
    const before = calls.length;
    const { batch, cached } = await run(rig, tasks);
    expect([before, calls.length, cached]).toEqual([5, 5, 6]);
    expect(await rig.store.result(batch, 'program')).toBe('"pq"');
    expect(JSON.parse((await rig.store.result(batch, 'each'))!)).toMatchObject([
      { path: 'y' },
      { path: 'z' },
    ]);
  });

  it('keeps pictures of cached results as data of the batch', async () => {
    const picture = { type: 'image', mimeType: 'image/png', data: Buffer.from('pixels').toString('base64') };
    const draw = defineTool({
      name: 'draw',
      readOnly: true,
      cache: {},
      run: () => ({ parts: [picture] }),
    }) as Tool;
    const rig = await openRig([draw]);
    await run(rig, [{ id: 't', function: 'draw' }]);
    const { batch, cached } = await run(rig, [{ id: 't', function: 'draw' }]);
    const { parts } = JSON.parse((await rig.store.result(batch, 't'))!);
    const blob = await rig.store.blob(batch, parts[0].data.id);
    expect([cached, Buffer.from(blob!.bytes).toString()]).toEqual([1, 'pixels']);
  });

  it('forgets results that are older than the configured age', async () => {
    const { tool } = counting({});
    const rig = await openRig([tool]);
    await run(rig, [measure('t', 'x')]);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 29 * 24 * 3_600_000 });
    onTestFinished(() => void vi.useRealTimers());
    expect(await cachedIn(rig, [measure('t', 'x')])).toBe(1);
    vi.setSystemTime(Date.now() + 2 * 24 * 3_600_000);
    expect(await cachedIn(rig, [measure('t', 'x')])).toBe(0);
    expect(await cachedIn(rig, [measure('t', 'x')])).toBe(1);
  });

  it('keeps at most the configured size, without what was not used for the longest time', async () => {
    const large = defineTool<{ n: number }>({
      name: 'large',
      readOnly: true,
      cache: {},
      run: ({ n }) => `${n}`.repeat(300_000),
    }) as Tool;
    const small = (config: VolleyConfig) => ({ ...config, cache: { ...config.cache, maxMb: 1 } });
    const rig = await openRig([large], small);
    const call = (n: number) => ({ id: `t${n}`, function: 'large', params: { n } });
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    for (const n of [1, 2, 3, 1, 4]) {
      vi.setSystemTime(Date.now() + 7_200_000);
      await run(rig, [call(n)]);
    }
    const [{ bytes } = { bytes: 0 }] = await rig.store.cacheUse();
    expect(bytes).toBeLessThanOrEqual(2 ** 20);
    expect(await cachedIn(rig, [1, 3, 4].map(call))).toBe(3);
    expect(await cachedIn(rig, [call(2)])).toBe(0);
  });
});

describe('the built-in tools', () => {
  const READS = [
    { id: 'read', function: 'read_file', params: { path: 'src/a.ts' } },
    { id: 'list', function: 'list_directory', params: { path: 'src' } },
    { id: 'names', function: 'search_files', params: { path: 'src', pattern: '*.ts' } },
    { id: 'text', function: 'search_files', params: { path: 'src', pattern: '*.ts', text: 'one' } },
  ];
  const analyze = (file_path: string) => ({
    id: 'code',
    function: 'code_analyzer_tool',
    params: { file_path },
  });

  async function rigWithFile() {
    const rig = await openRig();
    mkdirSync(join(rig.folder, 'src'));
    const file = join(rig.folder, 'src/a.ts');
    writeFileSync(file, 'const one = 1;\n');
    return { rig, file };
  }

  it('analyze a file again only when it has changed', async () => {
    const { rig, file } = await rigWithFile();
    const tasks = [analyze('src/a.ts')];
    const [first, second] = [await run(rig, tasks), await run(rig, tasks)];
    expect([first.cached, second.cached]).toEqual([0, 1]);
    expect(await rig.store.result(second.batch, 'code')).toBe(await rig.store.result(first.batch, 'code'));
    writeFileSync(file, 'const two = 2;\n');
    expect(await cachedIn(rig, tasks)).toBe(0);
  });

  it('read, list and search anew each time', async () => {
    const { rig } = await rigWithFile();
    await run(rig, READS);
    expect([await cachedIn(rig, READS), await rig.store.cacheUse()]).toEqual([0, []]);
  });

  it('refuse a cached path that may no longer be read', async () => {
    const { rig } = await rigWithFile();
    const link = join(rig.folder, 'link.ts');
    symlinkSync('src/a.ts', link);
    const tasks = [analyze('link.ts')];
    await run(rig, tasks);
    expect(await cachedIn(rig, tasks)).toBe(1);
    rmSync(link);
    symlinkSync('/etc/hostname', link);
    const { batch } = await run(rig, tasks);
    expect(await rig.standing(batch)).toEqual(['code failed error: PATH_NOT_ALLOWED']);
  });

  it('do not cache writes', async () => {
    const { rig } = await rigWithFile();
    const tasks = [{ id: 't', function: 'write_file', params: { path: 'out', content: 'x' } }];
    await run(rig, tasks);
    rmSync(join(rig.folder, 'out'));
    expect([await cachedIn(rig, tasks), statSync(join(rig.folder, 'out')).size]).toEqual([0, 1]);
  });
});

describe('a coordinator', () => {
  it('caches the results of lists only in a store that it is given', async () => {
    const { tool, calls } = counting({});
    const rig = await openRig([tool]);
    const call = { id: 'c', name: 'measure', arguments: { path: 'x' } };
    await rig.coordinator.executeSingle(call);
    expect(await rig.store.cacheUse()).toEqual([]);
    const coordinator = new ParallelToolCoordinator({ cache: rig.store });
    onTestFinished(() => coordinator.close());
    coordinator.register(tool);
    const [first] = await coordinator.executeParallel([call]);
    const calledLater = { id: 'd', name: 'measure', arguments: { path: { $from: 'c', path: '/path' } } };
    const [again, later, shared] = await coordinator.executeParallel([
      call,
      calledLater,
      { ...call, id: 'e' },
    ]);
    expect(first).not.toHaveProperty('cached');
    expect(again).toMatchObject({ cached: true, value: { path: 'x', length: 3 } });
    expect(later).toMatchObject({ cached: true, value: { path: 'x', length: 3 } });
    expect(shared).toMatchObject({ cached: true, sharedWith: 'c', value: { path: 'x', length: 3 } });
    expect(calls).toHaveLength(2);
  });
});

describe('a cached result', () => {
  it('is shown as such by all that reports it', async () => {
    const { tool } = counting({});
    const rig = await openRig([tool]);
    const cachedById: Record<string, unknown> = {};
    await run(rig, [measure('t', 'x')]);
    rig.executor.follow((event) => {
      if (event.type === 'completed') cachedById[event.id] = event.cached ?? false;
    });
    const { batch } = await run(rig, [measure('t', 'x'), measure('u', 'new')]);
    expect(cachedById).toEqual({ t: true, u: false });
    const text = '2 tasks: 2 completed (1 from cache)';
    for (const action of ['status', 'results', 'wait'])
      expect(await rig.ask(action, { batch })).toMatchObject({
        text: expect.stringContaining(text),
        data: { cached: 1 },
      });
    const detailed = await rig.ask('results', { batch, format: 'detailed' });
    expect(detailed.data['results']).toMatchObject([{ id: 't', cached: true }, { id: 'u' }]);
    expect(detailed.text).toContain('completed (from cache)');
    expect(await rig.executor.view(batch)).toMatchObject({ cached: 1 });
    expect(await rig.executor.explain(batch, 't')).toContain('from the cache');
    expect(await rig.executor.report(batch, 't')).toMatchObject({ cached: true });
  });

  it('is a column of exports', async () => {
    const { tool } = counting({});
    const rig = await openRig([tool]);
    await run(rig, [measure('t', 'x')]);
    const { batch } = await run(rig, [measure('t', 'x'), measure('u', 'new')]);
    await rig.ask('export', { batch, output_file: 'out.csv' });
    const rows = readFileSync(join(rig.folder, 'out.csv'), 'utf8').split('\r\n');
    const column = rows[0]!.split(',').indexOf('cached');
    expect(rows.slice(0, 3).map((row) => row.split(',')[column])).toEqual(['cached', 'true', '']);
  });
});
