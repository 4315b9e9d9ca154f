import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, isTool } from '../../src/tools/define-tool.ts';
import type { ToolDefinition } from '../../src/tools/tool.ts';
import { thrownBy } from '../engine/support/errors.ts';

const run = () => 'done';
const broken = (fields: object) => () =>
  defineTool({ name: 'resize', run, ...fields } as unknown as ToolDefinition<unknown, unknown>);

describe('defineTool()', () => {
  it('fills in what every tool has', () => {
    expect(defineTool({ name: 'resize', run })).toEqual({
      name: 'resize',
      description: '',
      input: expect.anything(),
      output: undefined,
      resources: undefined,
      priority: undefined,
      conflictsWith: [],
      idempotent: false,
      readOnly: false,
      dedupe: false,
      isolation: 'inline',
      timeoutMs: undefined,
      stallMs: undefined,
      retry: undefined,
      unrepeatable: false,
      limits: {},
      env: [],
      limitedAs: undefined,
      code: { kind: 'function', run },
      run,
    });
  });

  it('takes a tool that only reads for one that may be repeated and shared', () => {
    expect(defineTool({ name: 'look', readOnly: true, run })).toMatchObject({
      idempotent: true,
      dedupe: true,
    });
    expect(defineTool({ name: 'look', readOnly: true, dedupe: false, run })).toMatchObject({
      idempotent: true,
      dedupe: false,
    });
  });

  it('sends a function to a thread or a process as its text', () => {
    const { code } = defineTool({ name: 'resize', isolation: 'thread', run: (input) => [input] });
    expect(code).toEqual({ kind: 'source', text: '(input) => [input]' });
  });

  it('takes a module instead of a function', () => {
    const module = new URL('file:///tools/resize.mjs');
    const tool = defineTool({ name: 'resize', isolation: 'process', module, exportName: 'resize' });
    expect(tool.code).toEqual({ kind: 'module', url: 'file:///tools/resize.mjs', exportName: 'resize' });
    expect(tool).not.toHaveProperty('run');
  });

  it('makes what can be told from everything else', () => {
    const tool = defineTool({ name: 'resize', run });
    expect(isTool(tool)).toBe(true);
    for (const other of [{ ...tool }, null, undefined, 'resize', run]) expect(isTool(other)).toBe(false);
  });

  it('gives the function the type that the schema gives back', async () => {
    const tool = defineTool({
      name: 'double',
      input: z.object({ size: z.coerce.number() }),
      run: ({ size }) => size * 2,
    });
    const checked = await tool.input.check({ size: '4' });
    expect(checked).toEqual({ ok: true, value: { size: 4 } });
    const context = {
      id: 'a',
      attempt: 1,
      signal: new AbortController().signal,
      report: () => {},
      log: () => {},
    };
    expect(await tool.run!({ size: 4 }, context)).toBe(8);
  });

  it('names an unknown field and the nearest one as data', () => {
    const error = thrownBy(() => defineTool({ name: 'resize', run, timeoutms: 5 } as never));
    expect(error).toMatchObject({
      code: 'INVALID_TOOL',
      details: { tool: 'resize', field: 'timeoutms', nearest: 'timeoutMs' },
    });
  });

  it.each([
    [
      'an unknown field, with the nearest one',
      { timeoutms: 5 },
      '"timeoutms" is not a field of a tool; did you mean "timeoutMs"?',
    ],
    [
      'an isolation that does not exist',
      { isolation: 'vm' },
      'isolation must be inline, thread or process, but it is "vm"',
    ],
    ['an unknown limit', { limits: { bogus: 5 } }, '"bogus" is not a limit'],
    ['limits that are a list', { limits: [] }, 'limits must be an object'],
    ['a description that is no text', { description: 5 }, 'description must be a string'],
    ['resources that are promised', { resources: Promise.resolve({}) }, 'they are a promise'],
    ['an empty Standard Schema', { input: { '~standard': {} } }, 'no validate() in it'],
    ['no Standard Schema', { input: { '~standard': null } }, 'no validate() in it'],
    [
      'a JSON Schema of an unknown draft',
      { input: { $schema: 'http://json-schema.org/draft-04/schema#' } },
      'may be draft-06, draft-07, 2019-09',
    ],
    ['a run that is no function', { run: 'ls' }, 'run must be a function, but it is "ls"'],
    ['a run and a module', { module: new URL('file:///a.mjs') }, 'give either run or module, not both'],
    ['a negative demand', { resources: { cpu: -1 } }, 'resources.cpu must be a number from 0'],
    ['an unknown priority', { priority: 'urgent' }, 'Unknown priority "urgent"'],
    ['a time limit of nothing', { timeoutMs: 0 }, 'timeoutMs must be a number from 0.001'],
    ['a retry policy that is none', { retry: 3 }, 'retry must be an object'],
    ['conflicts that are no list', { conflictsWith: 'all' }, 'conflictsWith must be a list'],
    ['a flag that is none', { readOnly: 'yes' }, 'readOnly must be true or false'],
    [
      'a memory limit that only a process can keep',
      { limits: { memoryMb: 100 } },
      'limits.memoryMb can be enforced only in a process',
    ],
    ['a limit of nothing', { isolation: 'process', limits: { cpuMs: 0 } }, 'limits.cpuMs must be a number'],
    ['a schema that is none', { input: 'string' }, 'must be a Standard Schema'],
    [
      'a JSON Schema that is none',
      { input: { type: 'text' } },
      'The JSON Schema of the input of resize is not valid',
    ],
    [
      'a bound function for a thread',
      { isolation: 'thread', run: run.bind(null) },
      'cannot be sent to a thread',
    ],
  ])('rejects %s', (_, fields, message) => {
    expect(broken(fields)).toThrow(
      expect.objectContaining({ code: 'INVALID_TOOL', message: expect.stringContaining(message) }),
    );
  });

  it('rejects a module that is given by a path', () => {
    expect(() => defineTool({ name: 'resize', module: './resize.mjs' })).toThrow(
      expect.objectContaining({ code: 'INVALID_TOOL' }),
    );
  });

  it.each(['', '1st', 'a b', 'a/b', 'é', 'a'.repeat(129), 7, undefined])('rejects the name %j', (name) => {
    expect(broken({ name })).toThrow(expect.objectContaining({ code: 'INVALID_TOOL' }));
  });

  it('takes every kind of schema', async () => {
    const schemas = [
      z.object({ path: z.string() }),
      v.object({ path: v.string() }),
      { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
      { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', required: ['path'] },
      { $schema: 'https://json-schema.org/draft/2019-09/schema', type: 'object', required: ['path'] },
    ];
    for (const input of schemas) {
      const tool = defineTool({ name: 'read', input, run });
      expect(await tool.input.check({ path: 'a' })).toEqual({ ok: true, value: { path: 'a' } });
      expect(await tool.input.check({})).toMatchObject({ ok: false, issues: [{ path: '/path' }] });
    }
  });
});

describe('a tool of a module', () => {
  it.each([
    ['a remote address', { module: new URL('https://example.com/a.mjs') }, 'module must be a file URL'],
    ['an export without a name', { module: 'file:///a.mjs', exportName: 5 }, 'exportName must be'],
  ])('rejects %s', (_, fields, message) => {
    expect(() => defineTool({ name: 'resize', ...fields } as never)).toThrow(message);
  });
});
