import { expect, test } from 'vitest';
import type { JsonSchema } from '../../src/tools/schema.ts';
import { signatureOf } from '../../src/tools/signature.ts';
import { openRig } from '../batch/support/rig.ts';

const signature = (inputSchema: JsonSchema, outputSchema?: JsonSchema) =>
  signatureOf({ name: 'f', inputSchema, ...(outputSchema !== undefined && { outputSchema }) });

test('a JSON Schema becomes the type that a caller would write', () => {
  expect(signature({})).toBe('f(unknown)');
  expect(signature({ type: 'object', properties: {} })).toBe('f()');
  expect(
    signature(
      {
        type: 'object',
        required: ['path', 'a-b'],
        properties: {
          path: { type: 'string' },
          mode: { enum: ['r', 'w', 1, null] },
          sizes: { type: 'array', items: { type: ['integer', 'null'] } },
          'a-b': { anyOf: [{ type: 'boolean' }, { const: 'auto' }] },
          env: { type: 'object', additionalProperties: { type: 'string' } },
          tree: { $ref: '#/$defs/tree' },
          any: true,
        },
        $defs: { tree: { type: 'object', properties: { leaf: { type: 'number' } } } },
      },
      { type: 'array', items: { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } } },
    ),
  ).toBe(
    'f({path: string, mode?: "r" | "w" | 1 | null, sizes?: (number | null)[], "a-b": boolean | "auto", env?: Record<string, string>, tree?: {leaf?: number}, any?: unknown}): {n: number}[]',
  );
});

test('a hostile schema has a short signature', () => {
  const loop = {
    $ref: '#/$defs/a',
    $defs: { a: { type: 'object', properties: { a: { $ref: '#/$defs/a' } } } },
  };
  const wide = {
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`p${index}`, loop])),
  };
  const choices = {
    anyOf: Array.from({ length: 100_000 }, (_, index) => ({ const: 'x'.repeat(1000) + index })),
  };
  const evil = { type: 'object', properties: { 'a\nb': { enum: ['*/\n\u001b[2J'] } } };
  for (const schema of [loop, { $ref: '#/$ref' }, wide, choices, evil, { type: 'object', properties: null }])
    expect(signature(schema as JsonSchema, schema as JsonSchema).length).toBeLessThan(20_000);
  for (const control of ['\n', '\u001b']) expect(signature(evil)).not.toContain(control);
});

test('the built-in tools return what their signatures say', async () => {
  const { coordinator, folder } = await openRig();
  const { writeFile } = await import('node:fs/promises');
  await writeFile(`${folder}/a.ts`, 'export const f = (x: number) => (x > 0 ? 1 : 2);\n');
  const calls = [
    { name: 'read_file', arguments: { path: 'a.ts', line_count: 1 } },
    { name: 'write_file', arguments: { path: 'b.txt', content: 'b' } },
    { name: 'list_directory', arguments: { path: '.' } },
    { name: 'search_files', arguments: { text: 'const', context: 1 } },
    { name: 'code_analyzer_tool', arguments: { file_path: 'a.ts' } },
  ].map((call) => ({ id: call.name, ...call }));
  const results = await coordinator.executeParallel(calls);
  const signatures = new Map(coordinator.tools().map((tool) => [tool.name, signatureOf(tool)]));
  for (const [index, { name }] of calls.entries()) {
    const { value } = results[index] as { value: object };
    const [, returns] = signatures.get(name)!.split('): ');
    expect(results[index], name).toMatchObject({ status: 'completed' });
    for (const field of Object.keys(value)) expect(returns, name).toMatch(new RegExp(`\\b${field}\\??: `));
  }
});
