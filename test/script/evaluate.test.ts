import { describe, expect, it } from 'vitest';
import { evaluate, evaluateMany } from '../../src/script/evaluate.ts';

const NOTHING = new Map<string, string>();

/** The value, as data. */
async function valueFor(source: string, results: Record<string, unknown> = {}, names = {}): Promise<unknown> {
  const texts = new Map(Object.entries(results).map(([id, value]) => [id, JSON.stringify(value)]));
  const text = await evaluate({ source, results: texts }, names);
  return text === undefined ? undefined : JSON.parse(text);
}

/** The code with which an expression fails. */
async function failureOf(
  source: string,
  limits: { limitMs?: number; memoryMb?: number } = {},
): Promise<string> {
  const error = await evaluate({ source, results: NOTHING, ...limits }).then(
    (value) => expect.fail(`it gave ${value}`),
    (thrown) => thrown,
  );
  expect(error).toMatchObject({ name: 'VolleyError', retryable: false });
  expect(error.message).toContain('The expression');
  return error.code;
}

describe('evaluate', () => {
  it('sees results by id, and by name where the id is one', async () => {
    const results = { notes: [{ open: true }, { open: false }], 'with-dash': 2, JSON: 3 };
    expect(await valueFor('notes.filter((note) => note.open).length', results)).toBe(1);
    expect(await valueFor("results['with-dash'] + results.notes.length", results)).toBe(4);
    expect(await valueFor('[results.JSON, JSON.stringify(1)]', results)).toEqual([3, '1']);
    expect(await valueFor('Object.keys(results)', results)).toEqual(['notes', 'with-dash', 'JSON']);
  });

  it('sees other names, and results and names that are undefined', async () => {
    const names = { item: '{"path":"x"}', last: undefined };
    expect(await valueFor('[item.path, last === undefined]', {}, names)).toEqual(['x', true]);
    expect(await evaluate({ source: 'skipped ?? 5', results: new Map([['skipped', undefined]]) })).toBe('5');
  });

  it.each<[string, unknown]>([
    ['{ a: 1 }', { a: 1 }],
    ['1 + 1;', 2],
    ['1 // one', 1],
    ['undefined', undefined],
    ['null', null],
    ['"\\u{1F600} \\ud800 \\0"', '\u{1F600} \ud800 \0'],
    ['Promise.resolve(1)', 1],
    ['(async () => { await null; return [await 1] })()', [1]],
    ['new Date(2024, 6, 1).toString()', 'Mon Jul 01 2024 00:00:00 GMT+0000'],
    ['new Date("2024-07-01").getTimezoneOffset()', 0],
    ['Object.groupBy([1, 2, 3], (n) => n % 2 ? "odd" : "even")', { odd: [1, 3], even: [2] }],
    ['{ error: new RangeError("no") }', { error: { name: 'RangeError', message: 'no' } }],
  ])('gives the value of %s', async (source, expected) => {
    expect(await valueFor(source)).toEqual(expected);
  });

  it.each([
    ['a +', 'INVALID_EXPRESSION'],
    ['1)), ((2', 'INVALID_EXPRESSION'],
    ['missing.x', 'EXPRESSION_FAILED'],
    ['undeclared = 1', 'EXPRESSION_FAILED'],
    ['(() => { throw null })()', 'EXPRESSION_FAILED'],
    ['(() => { throw { get message() { throw 1 } } })()', 'EXPRESSION_FAILED'],
    ['Promise.reject(new Error("no"))', 'EXPRESSION_FAILED'],
    ['Date.now()', 'EXPRESSION_FAILED'],
    ['(() => { try { return new Date() } catch { return 1 } })()', 'EXPRESSION_FAILED'],
    ['Math.random()', 'EXPRESSION_FAILED'],
    ['import("node:fs")', 'EXPRESSION_FAILED'],
    ['new Promise(() => {})', 'EXPRESSION_PENDING'],
    ['() => 1', 'UNSERIALISABLE_RESULT'],
    ['[() => 1]', 'UNSERIALISABLE_RESULT'],
    ['{ f() {} }', 'UNSERIALISABLE_RESULT'],
    ['[1].map(async (n) => n)', 'UNSERIALISABLE_RESULT'],
    ['new Set([1])', 'UNSERIALISABLE_RESULT'],
    ['{ map: new Map() }', 'UNSERIALISABLE_RESULT'],
    ['1n', 'UNSERIALISABLE_RESULT'],
    ['Symbol()', 'UNSERIALISABLE_RESULT'],
    ['(() => { const a = {}; a.a = a; return a })()', 'UNSERIALISABLE_RESULT'],
    ['{ toJSON() { throw new Error("no") } }', 'UNSERIALISABLE_RESULT'],
    ['(function f() { return f() + 1 })()', 'EXPRESSION_TOO_DEEP'],
    ['JSON.parse("[".repeat(1e6))', 'EXPRESSION_TOO_DEEP'],
    ['[1].map(function f() { return [1].map(f) })', 'EXPRESSION_TOO_DEEP'],
  ])('refuses %s', async (source, code) => {
    expect(await failureOf(source)).toBe(code);
  });

  it('says where it failed', async () => {
    const source = '[1].map((n) =>\n  missing(n))';
    await expect(evaluate({ source, results: NOTHING })).rejects.toMatchObject({
      code: 'EXPRESSION_FAILED',
      message: expect.stringMatching(/ReferenceError.*missing/),
    });
  });

  it('has nothing of the host, no clock and no view of the collector', async () => {
    const absent =
      `process require module fetch setTimeout setInterval console Buffer global performance WeakRef
      FinalizationRegistry SharedArrayBuffer Atomics WebAssembly std os scriptArgs print gc`.split(/\s+/);
    expect(await valueFor(JSON.stringify(absent).concat('.filter((name) => name in globalThis)'))).toEqual(
      [],
    );
    expect(await failureOf('this.constructor.constructor("return process")()')).toBe('EXPRESSION_FAILED');
    expect(await failureOf('(() => {}).constructor("return process")()')).toBe('EXPRESSION_FAILED');
  });

  it.each([
    ['an endless loop', '(() => { for (;;); })()'],
    ['an endless chain of promises', '(() => { const f = () => Promise.resolve().then(f); return f() })()'],
    ['an endless getter of an error', '(() => { throw { get message() { for (;;); } } })()'],
    ['an endless regular expression', '/(a+)+b/.test("a".repeat(60))'],
    ['an endless native function', '"x".repeat(2e7).indexOf("x".repeat(1e4) + "y")'],
    ['an endless comparison', '[3, 1, 2].sort(() => { for (;;); })'],
    ['an endless stringification', '{ toJSON() { for (;;); } }'],
  ])('ends %s', async (_, source) => {
    expect(await failureOf(source, { limitMs: 300 })).toBe('EXPRESSION_TIMEOUT');
  });

  it.each([
    ['a long string', '"x".repeat(5e7)'],
    ['many objects', '(() => { const all = []; for (;;) all.push({}) })()'],
    ['a large array', 'new Array(1e7).fill(0).length'],
    ['a large buffer', 'new ArrayBuffer(1e8).byteLength'],
  ])('limits the memory of %s', async (_, source) => {
    expect(await failureOf(source, { memoryMb: 16, limitMs: 30_000 })).toBe('EXPRESSION_MEMORY');
    const results = new Map([['a', JSON.stringify('x'.repeat(5e6))]]);
    await expect(evaluate({ source: 'a', results, memoryMb: 16 })).rejects.toMatchObject({
      code: 'EXPRESSION_MEMORY',
    });
  });

  it('fails only the evaluation that is terminated, not those behind it', async () => {
    const endless = '"x".repeat(2e7).indexOf("x".repeat(1e4) + "y")';
    const [ended, ...others] = await Promise.allSettled([
      evaluate({ source: endless, results: NOTHING, limitMs: 50 }),
      ...Array.from({ length: 20 }, (_, index) => evaluate({ source: `${index} * 2`, results: NOTHING })),
    ]);
    expect(ended).toMatchObject({ status: 'rejected', reason: { code: 'EXPRESSION_TIMEOUT' } });
    expect(others).toEqual(others.map((_, index) => ({ status: 'fulfilled', value: `${index * 2}` })));
  });

  it('keeps nothing from one evaluation to the next, whatever it did', async () => {
    const damage = [
      'globalThis.leak = 1',
      'Object.prototype.leak = 1',
      'Array.prototype.map = () => "leak"',
      'JSON.stringify = () => "leak"',
      'JSON.parse = () => "leak"',
      'Object.defineProperty = () => "leak"',
      'Object.defineProperty(globalThis, "results", { value: "leak" })',
      '(() => { globalThis.Array = undefined; globalThis.Promise = undefined })()',
      'Promise.prototype.then = () => "leak"',
      'delete globalThis.eval',
      '(() => { Promise.resolve().then(() => { globalThis.leak = 1 }); return 1 })()',
      '(() => { const all = []; for (let i = 0; i < 1e5; i++) all.push({ i }); globalThis.all = all })()',
      '(() => { let f = () => 1; for (let i = 0; i < 1000; i++) f = f.bind(); return f() })()',
    ];
    const check = '[typeof leak, typeof all, [1].map((n) => n), results.a, typeof {}.leak, typeof eval]';
    for (const source of damage) {
      await evaluate({ source, results: new Map([['a', '1']]) }).catch(() => {});
      const after = ['undefined', 'undefined', [1], [7], 'undefined', 'function'];
      expect(await valueFor(check, { a: [7] })).toEqual(after);
    }
  });
});

describe('evaluateMany', () => {
  it('evaluates for each item, and one that throws fails alone', async () => {
    const items = Array.from({ length: 250 }, (_, index) => ({
      item: index === 120 ? 'null' : JSON.stringify({ path: `p${index}` }),
      index: String(index),
    }));
    const evaluations = await evaluateMany({ source: 'item.path + index', results: NOTHING }, items);
    expect(evaluations).toHaveLength(250);
    expect(evaluations[119]).toEqual({ value: '"p119119"' });
    expect(evaluations[120]).toMatchObject({ error: { code: 'EXPRESSION_FAILED' } });
    expect(evaluations[249]).toEqual({ value: '"p249249"' });
  });

  it('gives each item its own results', async () => {
    const results = new Map([['list', '[3, 2, 1]']]);
    const items = [{ index: '0' }, { index: '1' }];
    expect(await evaluateMany({ source: '[list.pop(), list.length]', results }, items)).toEqual([
      { value: '[1,2]' },
      { value: '[1,2]' },
    ]);
  });

  it('also takes promises, and no items at all', async () => {
    const items = [{ item: '1' }, { item: '2' }];
    const source = '(async () => (await item) * 2)()';
    expect(await evaluateMany({ source, results: NOTHING }, items)).toEqual([{ value: '2' }, { value: '4' }]);
    expect(await evaluateMany({ source, results: NOTHING }, [])).toEqual([]);
  });

  it('fails as a whole if a limit is exceeded', async () => {
    const source = '(() => { for (;;); })()';
    await expect(
      evaluateMany({ source, results: NOTHING, limitMs: 100 }, [{ item: '1' }, { item: '2' }]),
    ).rejects.toMatchObject({ code: 'EXPRESSION_TIMEOUT' });
  });
});
