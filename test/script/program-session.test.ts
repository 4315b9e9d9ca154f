import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import {
  DEFAULT_LIMITS,
  type ProgramLimits,
  ProgramSession,
  type ProgramStep,
  VM_VERSION,
} from '../../src/script/program-session.ts';
import { play } from './support/play.ts';

/** The value of a program, as data. */
async function valueFor(source: string, args?: unknown): Promise<unknown> {
  const { outcome } = await play({ source, args });
  if (outcome === undefined || outcome.error !== undefined) throw outcome?.error;
  return outcome.value === undefined ? undefined : JSON.parse(outcome.value);
}

async function failureFor(source: string, limits: Partial<ProgramLimits> = {}): Promise<unknown> {
  const { outcome } = await play({ source, limits });
  if (outcome?.error === undefined) return expect.fail(`it gave ${outcome?.value}`);
  expect(outcome.error).toMatchObject({ name: 'VolleyError', retryable: false });
  return [outcome.error.code, outcome.reason];
}

describe('a program', () => {
  it('gives the value that it returns', async () => {
    expect(await valueFor('return args.list.length', { list: [1, 2] })).toBe(2);
    expect(await valueFor('return typeof args')).toBe('undefined');
    expect(await valueFor('log(1)')).toBeUndefined();
    expect(await valueFor('x = 1; return x // sloppy')).toBe(1);
  });

  it('calls tools, also those with dots in their names', async () => {
    const { journal, outcome } = await play({
      source: `const a = await tools.first({ n: 1 });
        const b = await tools.files.read(a);
        return [await tools['files.write'](), b]`,
    });
    expect(outcome).toEqual({ value: '[{},{"n":1}]', inFlight: [] });
    expect(journal.calls).toMatchObject([
      { index: 0, function: 'first', params: '{"n":1}', options: undefined, after: 0 },
      { index: 1, function: 'files.read', params: '{"n":1}', after: 1 },
      { index: 2, function: 'files.write', params: '{}', after: 2 },
    ]);
    expect(journal.calls[0]!.hash).toBe(journal.calls[1]!.hash);
    expect(journal.calls[0]!.hash).not.toBe(journal.calls[2]!.hash);
  });

  it('makes calls at once, and gets them in any order', async () => {
    const { outcome } = await play({
      source: 'return Promise.all([1, 2, 3].map((n) => tools.echo(n)))',
      choose: (inFlight) => inFlight.at(-1)!,
    });
    expect(outcome).toMatchObject({ value: '[1,2,3]' });
  });

  it('passes on options of a call, and refuses others', async () => {
    const { journal } = await play({
      source: `await tools.a({}, { priority: 'high', timeout: 5, maxRetries: 2, resources: { cpu: 1 } });
        await tools.b({}, { max_retries: 1 }); await tools.c({}, null); await tools.d({}, {});`,
    });
    const options = journal.calls.map((call) => call.options && JSON.parse(call.options));
    expect(options).toEqual([
      { priority: 'high', timeout: 5, max_retries: 2, resources: { cpu: 1 } },
      { max_retries: 1 },
      undefined,
      {},
    ]);
    const refused =
      'return tools.a({}, { retries: 1 }).catch((error) => [error.code, error instanceof TypeError])';
    expect(await valueFor(refused)).toEqual(['INVALID_CALL', true]);
    for (const params of ['() => 1', '[1n]', 'Symbol()', '"x".repeat(2e7)', 'globalThis']) {
      const source = `globalThis.self = globalThis; return tools.a(${params}).catch((error) => error.code)`;
      expect(await valueFor(source)).toBe('INVALID_CALL');
    }
  });

  it('hashes arguments without regard to the order of their keys', async () => {
    const { journal } = await play({
      source: 'await tools.a({ x: 1, y: { b: 2, a: [1] } }); await tools.a({ y: { a: [1], b: 2 }, x: 1 })',
    });
    expect(journal.calls[0]!.hash).toBe(journal.calls[1]!.hash);
  });

  it('can catch the error of a call', async () => {
    const source = `try { await tools.fail({ n: 1 }) } catch (error) {
      return [error instanceof Error, error.message, error.code, error.reason, error.function, error.callId];
    }`;
    expect(await valueFor(source)).toEqual([true, 'no {"n":1}', 'ENOENT', 'error', 'fail', 'program[0]']);
  });

  it('fails with an error that it does not catch', async () => {
    const { outcome } = await play({ source: '\nawait tools.fail()' });
    expect(outcome).toMatchObject({
      error: { code: 'PROGRAM_FAILED', details: { code: 'ENOENT', callId: 'program[0]' } },
      reason: 'error',
    });
    const thrown = await play({ source: '\nthrow new TypeError("no")' });
    expect(thrown.outcome).toMatchObject({ error: { code: 'PROGRAM_FAILED', details: { line: 2 } } });
  });

  it('does not mind the error of a call that nobody waits for', async () => {
    expect(await valueFor('tools.fail(); await tools.ok(); return 1')).toBe(1);
    expect(await valueFor('queueMicrotask(() => { throw 1 }); await null; return 1')).toBe(1);
  });

  it('says which calls are in flight when it returns', async () => {
    const { outcome } = await play({
      source: 'tools.a(); const b = tools.b(); tools.c(); await b; return 1',
    });
    expect(outcome).toEqual({ value: '1', inFlight: [2] });
  });

  it('maps over a list with limited concurrency, in order', async () => {
    const source = `let running = 0, most = 0;
      const list = await parallel(args, async (n, index) => {
        most = Math.max(most, ++running);
        const [value] = await tools.echo([n * index]);
        running--;
        return value;
      }, { concurrency: 2 });
      return [list, most]`;
    expect(await valueFor(source, [5, 6, 7, 8, 9])).toEqual([[0, 6, 14, 24, 36], 2]);
    expect(await valueFor('return parallel([], tools.echo, { concurrency: 2 })')).toEqual([]);
    expect(await valueFor('return parallel(new Set([1, 2]), (n) => n)')).toEqual([1, 2]);
  });

  it('starts nothing more in parallel() after an error', async () => {
    const source =
      'return parallel([1, 2, 3, 4], (n) => n === 2 ? tools.fail(n) : tools.ok(n), { concurrency: 1 })';
    const { journal, outcome } = await play({ source });
    expect(outcome).toMatchObject({ error: { code: 'PROGRAM_FAILED', details: { callId: 'program[1]' } } });
    expect(journal.calls).toHaveLength(2);
    expect(await valueFor('return parallel([1]).catch((error) => error.code)')).toBe('INVALID_CALL');
    const zero = 'return parallel([1], tools.ok, { concurrency: 0 }).catch((error) => error.code)';
    expect(await valueFor(zero)).toBe('INVALID_CALL');
  });

  it('logs and reports progress', async () => {
    const { log, progress } = await play({
      source: `log('a', 1, { b: [null] }, undefined); console.error('c'); progress(0.5, 'half'); await tools.ok();
        progress(7); log('x'.repeat(1e6)); for (let i = 0; i < 5000; i++) log(i)`,
    });
    expect(log.slice(0, 2)).toEqual(['a 1 {"b":[null]} undefined', 'c']);
    expect(log[2]!.length).toBeLessThan(3000);
    expect(log).toHaveLength(1000);
    expect(progress).toEqual([
      { share: 0.5, step: 'half' },
      { share: 1, step: '' },
    ]);
  });

  it('has a clock that stands still between deliveries, a seeded Math.random, and UTC', async () => {
    const source = `const start = Date.now(); await tools.ok(); const then = new Date(); for (let i = 0; i < 1e5; i++);
      return [start, then.getTime() - start, Date.now() - start, then.getHours(), Math.random(), Math.random()]`;
    const value = (await valueFor(source)) as number[];
    expect(value.slice(0, 4)).toEqual([Date.UTC(2026, 0, 1), 1000, 1000, 0]);
    expect(value[4]).not.toBe(value[5]);
    expect(await valueFor(source)).toEqual(value);
    const other = await play({ source, seed: 2 });
    expect(JSON.parse((other.outcome as { value: string }).value)[4]).not.toBe(value[4]);
  });

  it('draws evenly', async () => {
    const source = `const counts = Array(10).fill(0);
      for (let i = 0; i < 20000; i++) counts[Math.floor(Math.random() * 10)]++; return counts`;
    for (const count of (await valueFor(source)) as number[])
      expect(Math.abs(count - 2000)).toBeLessThan(300);
  });

  it('has nothing of the host', async () => {
    const absent = `process require module fetch setTimeout setInterval Buffer global performance WeakRef
      FinalizationRegistry SharedArrayBuffer Atomics WebAssembly host pending`.split(/\s+/);
    const source = 'return args.filter((name) => name in globalThis)';
    expect(await valueFor(source, absent)).toEqual([]);
    expect(await failureFor('return this.constructor.constructor("return process")()')).toEqual([
      'PROGRAM_FAILED',
      'error',
    ]);
  });

  it('knows its version', () => {
    const { version } = createRequire(import.meta.url)('@jitl/quickjs-ng-wasmfile-release-sync/package.json');
    expect(VM_VERSION).toBe(`quickjs-ng ${version}`);
  });
});

describe('a hostile program', () => {
  it.each<[string, string, Partial<ProgramLimits>, string, string]>([
    ['an endless loop', 'for (;;);', { cpuMs: 300 }, 'PROGRAM_CPU_TIME', 'cpu'],
    [
      'an endless loop after a call',
      'await tools.ok(); try { for (;;); } finally { for (;;); }',
      { cpuMs: 300 },
      'PROGRAM_CPU_TIME',
      'cpu',
    ],
    [
      'an endless chain of promises',
      'const f = () => Promise.resolve().then(f); await f()',
      { cpuMs: 300 },
      'PROGRAM_CPU_TIME',
      'cpu',
    ],
    [
      'an endless chain of promises that catches everything',
      'const f = () => { for (let i = 0; i < 1e5; i++); return Promise.resolve().then(f, f) }; await f()',
      { cpuMs: 300 },
      'PROGRAM_CPU_TIME',
      'cpu',
    ],
    [
      'an endless native function',
      '"x".repeat(2e7).indexOf("x".repeat(1e4) + "y")',
      { cpuMs: 300 },
      'PROGRAM_CPU_TIME',
      'cpu',
    ],
    [
      'an endless regular expression',
      '/(a+)+b/.test("a".repeat(60))',
      { cpuMs: 300 },
      'PROGRAM_CPU_TIME',
      'cpu',
    ],
    [
      'much computing in small steps',
      'for (;;) { await tools.ok(); for (let i = 0; i < 1e5; i++); }',
      { cpuMs: 300 },
      'PROGRAM_CPU_TIME',
      'cpu',
    ],
    ['many objects', 'const all = []; for (;;) all.push({})', { memoryMb: 16 }, 'PROGRAM_MEMORY', 'memory'],
    ['a large string', 'return "x".repeat(5e7)', { memoryMb: 16 }, 'PROGRAM_MEMORY', 'memory'],
    [
      'large arguments',
      'const text = "x".repeat(1e7); for (let i = 0; i < 100; i++) tools.ok({ text })',
      {},
      'PROGRAM_MEMORY',
      'memory',
    ],
    ['deep recursion', 'const f = () => 1 + f(); return f()', {}, 'PROGRAM_TOO_DEEP', 'error'],
    ['deep nesting', 'return JSON.parse("[".repeat(1e6))', {}, 'PROGRAM_TOO_DEEP', 'error'],
    [
      'a million calls at once',
      'for (let i = 0; i < 1e6; i++) tools.ok(i)',
      {},
      'PROGRAM_CALLS_IN_FLIGHT',
      'budget',
    ],
    [
      'a million calls after each other',
      'for (let i = 0; i < 1e6; i++) await tools.ok(i)',
      { calls: 100 },
      'PROGRAM_CALLS',
      'budget',
    ],
    [
      'calls that are too many even for those that catch it',
      'for (;;) try { await tools.ok() } catch {}',
      { calls: 100 },
      'PROGRAM_CALLS',
      'budget',
    ],
    ['a large value', 'return "x".repeat(1000)', { valueChars: 1000 }, 'RESULT_TOO_LARGE', 'error'],
    ['a value that is not JSON', 'return [1n]', {}, 'UNSERIALISABLE_RESULT', 'error'],
    ['a promise that never settles', 'await new Promise(() => {})', {}, 'PROGRAM_STUCK', 'error'],
    [
      'a promise that never settles, after a call',
      'await tools.ok(); return new Promise(() => {})',
      {},
      'PROGRAM_STUCK',
      'error',
    ],
    ['no JavaScript', 'const = 1', {}, 'INVALID_PROGRAM', 'error'],
    ['a module', 'import fs from "node:fs"; return fs', {}, 'INVALID_PROGRAM', 'error'],
    ['an import', 'return import("node:fs")', {}, 'PROGRAM_FAILED', 'error'],
  ])('ends with its reason: %s', async (_, source, limits, code, reason) => {
    expect(await failureFor(source, limits)).toEqual([code, reason]);
    // And the next one does not notice, even if it has the same thread.
    expect(await valueFor('return [typeof all, Object.keys(globalThis)]')).toEqual(['undefined', []]);
  });

  it('ends with its reason: a delivery of a call that it has not made', async () => {
    const step = await new Promise<ProgramStep>((resolve) => {
      const input = { source: 'await tools.ok()', seed: 1, startedAt: 0, limits: DEFAULT_LIMITS };
      const session = new ProgramSession(input, (next) => {
        if (next.outcome === undefined) session.deliver([{ index: 1, at: 0 }]);
        else resolve(next);
      });
    });
    expect(step.outcome).toMatchObject({ error: { code: 'PROGRAM_DIVERGED' }, inFlight: [0] });
  });

  it('ends with its reason: more time than it may take in all', async () => {
    const limits = { wallMs: 200 };
    const { outcome } = await play({ source: 'for (;;) await tools.ok()', limits });
    expect(outcome).toMatchObject({ error: { code: 'PROGRAM_TIMEOUT' }, reason: 'timeout' });
  });

  it.each([
    'Object.prototype.then = function (resolve) { resolve("tricked") }',
    'Object.prototype.toJSON = () => "tricked"; ',
    'Array.prototype[Symbol.iterator] = function* () { yield "tricked" }',
    'Promise.prototype.then = function () { return "tricked" }',
    'Promise.resolve = () => "tricked"; Promise.all = () => "tricked"',
    'JSON.parse = JSON.stringify = () => "tricked"',
    'Object.defineProperty(Object.prototype, "0", { get: () => "tricked", set() {} })',
    'Object.setPrototypeOf(tools.x, null); tools.x.y.z = 1; delete tools.x; Object.freeze(tools.x)',
    'Error.prepareStackTrace = (error, sites) => sites.map((site) => site.getFunction?.())',
    'globalThis.Promise = globalThis.Error = globalThis.Proxy = globalThis.JSON = undefined',
    'tools.x.constructor.constructor("return 1"); tools.__proto__; tools.prototype; tools.caller; tools.arguments',
    'String.prototype.slice = () => ({}); Math.min = () => NaN',
  ])('harms nobody but itself: %s', async (trick) => {
    const source = `${trick}; const value = await tools.echo({ n: 1 }); log('x'); progress(1); return value`;
    const { journal } = await play({ source, limits: { cpuMs: 5000 } });
    expect(journal.calls.map((call) => call.function).filter((name) => name === 'echo').length).toBeLessThan(
      2,
    );
    expect(await valueFor('const value = await tools.echo({ n: 1 }); return value')).toEqual({ n: 1 });
  });
});
