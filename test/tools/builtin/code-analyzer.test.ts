import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ResourceRequirements } from '../../../src/core/demand.ts';
import { VolleyError } from '../../../src/core/errors.ts';
import { ToolFailure } from '../../../src/engine/tool-failure.ts';
import { type AnalyzedCode, codeAnalyzerTool } from '../../../src/tools/builtin/code-analyzer.ts';
import { Roots } from '../../../src/tools/builtin/roots.ts';
import { sample } from '../analysis/support/sample.ts';

let folder: string;
let tool: ReturnType<typeof codeAnalyzerTool>;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'volley-analyzer-')));
  await mkdir(join(folder, 'root'));
  tool = codeAnalyzerTool({
    roots: [join(folder, 'root')],
    files: { maxBytes: 500_000, maxEntries: 20 },
  });
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function write(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, 'root', name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  return path;
}

async function analyze(
  input: unknown,
  { signal = new AbortController().signal, report = (_: number | string): void => {} } = {},
) {
  const checked = await tool.input.check(input);
  if (!checked.ok) throw new Error(checked.issues.map(({ path, rule }) => `${path} ${rule}`).join('; '));
  return tool.run!(checked.value, { id: 'a', attempt: 1, signal, report, log: () => {} });
}

test('takes the call of the seed as it stands, and tells all of a file', async () => {
  const file_path = await write('models/user_model.py', sample('orders.py'));
  const result = await analyze({ action: 'analyze', file_path });
  expect(result).toMatchObject({
    file_path,
    language: 'python',
    lines: { total: 95, code: 68, comment: 10, blank: 17 },
    function_count: 12,
    class_count: 2,
    classes: [
      { name: 'Order', line: 56, end_line: 78, lines: 23, methods: 3 },
      { name: 'Order.Line', line: 75, end_line: 78, lines: 4, methods: 1 },
    ],
    import_count: 6,
    complexity: { total: 40, max: 9, mean: 3.33, top_level: 2 },
    longest_function: { name: 'fetch', line: 35, end_line: 52, lines: 18, complexity: 6, parameters: 2 },
    parse_error_count: 0,
    parse_errors: [],
    truncated: false,
  });
  expect((result as AnalyzedCode).functions[1]).toEqual({
    name: 'classify',
    line: 20,
    end_line: 30,
    lines: 11,
    complexity: 6,
    parameters: 4,
  });
});

test('takes a path from the first root, and an action that is left out', async () => {
  await write('panel.tsx', sample('panel.tsx'));
  expect(await analyze({ file_path: 'panel.tsx' })).toMatchObject({
    language: 'typescript',
    function_count: 6,
  });
});

test('counts a file with a byte order mark like one without', async () => {
  const plain = await analyze({ file_path: await write('plain.py', sample('orders.py')) });
  const marked = await analyze({ file_path: await write('marked.py', `\ufeff${sample('orders.py')}`) });
  expect({ ...marked, file_path: '' }).toEqual({ ...plain, file_path: '' });
});

test('has an answer for an empty file', async () => {
  expect(await analyze({ file_path: await write('empty.ts', '') })).toEqual({
    file_path: join(folder, 'root/empty.ts'),
    language: 'typescript',
    lines: { total: 0, code: 0, comment: 0, blank: 0 },
    function_count: 0,
    functions: [],
    class_count: 0,
    classes: [],
    import_count: 0,
    imports: [],
    complexity: { total: 0, max: 0, mean: 0, top_level: 0 },
    longest_function: null,
    parse_error_count: 0,
    parse_errors: [],
    truncated: false,
  });
});

test('counts the lines of other texts, and says why there is no more', async () => {
  const file_path = await write('main.rb', 'def a\n\n  1 # one\nend\n');
  expect(await analyze({ file_path })).toEqual({
    file_path,
    language: 'unknown',
    lines: { total: 4, blank: 1 },
    note: expect.stringContaining('.tsx, .py'),
  });
});

test('cuts long lists at the limit, and says so', async () => {
  const file_path = await write('many.js', 'const f = () => 1;\n'.repeat(21));
  const result = await analyze({ file_path });
  expect(result).toMatchObject({ function_count: 21, truncated: true, complexity: { total: 21 } });
  expect((result as AnalyzedCode).functions).toHaveLength(20);
});

test('goes on after a mistake and reports its line', async () => {
  const file_path = await write('broken.py', 'def a():\n    return )\n\ndef b():\n    pass\n');
  expect(await analyze({ file_path })).toMatchObject({
    function_count: 2,
    parse_error_count: 1,
    parse_errors: [{ line: 2 }],
  });
});

describe('refuses', () => {
  test.each([
    [{}, '/file_path'],
    [{ action: 'explain', file_path: 'a.py' }, '/action'],
    [{ file_path: '' }, '/file_path'],
    [{ file_path: 7 }, '/file_path'],
  ])('%j, and names the field', async (input, field) => {
    await expect(analyze(input)).rejects.toThrow(field);
  });

  test('what leads outside the roots, also through a link', async () => {
    await writeFile(join(folder, 'outside.py'), 'pass\n');
    await symlink(join(folder, 'outside.py'), join(folder, 'root/link.py'));
    for (const file_path of ['../outside.py', join(folder, 'outside.py'), 'link.py', '/proc/self/environ']) {
      const error = await analyze({ file_path }).catch((caught) => caught);
      expect(error, file_path).toBeInstanceOf(VolleyError);
      expect(error.code).toBe('PATH_NOT_ALLOWED');
    }
  });

  test.each([
    ['missing.py', 'no such file'],
    ['folder.py', 'is a folder'],
    ['large.py', '500001 bytes, but at most 500000 are read'],
    ['binary.py', 'not UTF-8 text'],
    ['latin1.py', 'not UTF-8 text'],
  ])('%s, and does not try again', async (file_path, reason) => {
    await mkdir(join(folder, 'root/folder.py'), { recursive: true });
    await write('large.py', '#'.repeat(500_001));
    await write('binary.py', Uint8Array.of(35, 0, 1, 2));
    await write('latin1.py', Uint8Array.of(35, 0xe4, 10));
    const error = await analyze({ file_path }).catch((caught) => caught);
    expect(error).toBeInstanceOf(ToolFailure);
    expect(error.message).toContain(reason);
    expect(error.message).toContain(file_path);
    expect(error.retryable).toBe(false);
  });
});

describe('a large file', () => {
  const large = `${sample('shop.js').replaceAll('export default', 'const last =')}\n`.repeat(150);

  test('leaves the event loop to others, and reports how far it is', async () => {
    const file_path = await write('large.js', large);
    const shares: (number | string)[] = [];
    let turns = 0;
    let isDone = false;
    const turn = () => {
      turns++;
      if (!isDone) setImmediate(turn);
    };
    setImmediate(turn);
    const result = await analyze({ file_path }, { report: (share) => shares.push(share) });
    isDone = true;
    expect(result).toMatchObject({ function_count: 150 * 17, complexity: { total: 150 * 35 } });
    expect(turns).toBeGreaterThan(10);
    expect(shares.length).toBeGreaterThan(5);
    expect(shares).toEqual([...shares].sort((a, b) => Number(a) - Number(b)));
    expect(shares.every((share) => typeof share === 'number' && share >= 0 && share <= 1)).toBe(true);
  });

  test('is left alone when the call is cancelled', async () => {
    const file_path = await write('large.js', large);
    const controller = new AbortController();
    let reports = 0;
    const cancelled = new Error('cancelled');
    const report = () => {
      reports++;
      controller.abort(cancelled);
    };
    await expect(analyze({ file_path }, { signal: controller.signal, report })).rejects.toBe(cancelled);
    expect(reports).toBe(1);
  });
});

test('says what it is and what it needs', async () => {
  const file_path = await write('needs.py', ' '.repeat(400_000));
  const needsOf = tool.resources as (input: object) => ResourceRequirements;
  expect(tool).toMatchObject({ name: 'code_analyzer_tool', readOnly: true, idempotent: true, dedupe: true });
  expect(needsOf({ file_path })).toEqual({
    cpu: 1,
    memoryMb: 11,
    io: 'low',
    // So that a write of the same file waits, however its path is written.
    shared: [new Roots([join(folder, 'root')]).lockName('models/../needs.py')],
  });
  expect(tool.input.jsonSchema).toMatchObject({ required: ['file_path'] });
});
