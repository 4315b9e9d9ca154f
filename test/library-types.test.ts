import * as v from 'valibot';
import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import {
  type CallError,
  type CallResult,
  defineTool,
  type FromJsonSchema,
  type Outcome,
  type ParallelAgentTool,
  type ParallelExecutionEngine,
  type ParallelToolCoordinator,
  type Tool,
  type ToolInput,
  type ToolOutput,
} from '../src/index.ts';

// `test/docs/compile.test.ts` compiles this file. Nothing here runs anything.
declare const engine: ParallelExecutionEngine;
declare const coordinator: ParallelToolCoordinator;
const types = (check: () => unknown) => void check;

describe('the types of the engine', () => {
  it('follow the functions', () =>
    types(async () => {
      expectTypeOf(engine.submit(async () => 7).wait()).resolves.toEqualTypeOf<number>();
      expectTypeOf(engine.submit({ toolName: 't' }, () => 'text').wait()).resolves.toEqualTypeOf<string>();
      expectTypeOf(engine.map(['a'], async (item, index) => ({ item, index }))).resolves.toEqualTypeOf<
        { item: string; index: number }[]
      >();
      engine.submit(({ submit }) => expectTypeOf(submit(() => 7).wait()).resolves.toEqualTypeOf<number>());
    }));

  it('keep the type of each item of a group', () =>
    types(async () => {
      const group = engine.submitAll([
        { id: 'a', run: () => 7 },
        { toolName: 'b', run: async ({ attempt }) => `attempt ${attempt}` },
        { error: new Error('refused') },
      ]);
      expectTypeOf(group.handles[0].wait()).resolves.toEqualTypeOf<number>();
      expectTypeOf(await group.outcomes()).toEqualTypeOf<
        [Outcome<number>, Outcome<string>, Outcome<never>]
      >();
      const [, second] = await group.outcomes();
      if (second.status === 'completed') expectTypeOf(second.value).toEqualTypeOf<string>();
    }));

  it('keep the type of a list of items', () =>
    types(async () => {
      const group = engine.submitAll([1, 2].map((number) => ({ run: () => number })));
      expectTypeOf(await group.outcomes()).toEqualTypeOf<Outcome<number>[]>();
      group.onSettled((outcome) => expectTypeOf(outcome).toEqualTypeOf<Outcome<number>>());
    }));
});

describe('the types of a tool', () => {
  const zodTool = defineTool({
    name: 'zod',
    input: z.object({ text: z.string(), times: z.number().default(1) }),
    resources: ({ times }) => ({ cpu: times }),
    run: ({ text, times }) => {
      expectTypeOf(times).toEqualTypeOf<number>();
      return text.repeat(times);
    },
  });

  it('are those of a Standard Schema, before and after it', () => {
    expectTypeOf<ToolInput<typeof zodTool>>().toEqualTypeOf<{ text: string; times?: number | undefined }>();
    expectTypeOf<ToolOutput<typeof zodTool>>().toEqualTypeOf<string>();
    const valibotTool = defineTool({
      name: 'valibot',
      input: v.object({ id: v.number() }),
      run: async ({ id }) => id,
    });
    expectTypeOf<ToolInput<typeof valibotTool>>().toEqualTypeOf<{ id: number }>();
    expectTypeOf<ToolOutput<typeof valibotTool>>().toEqualTypeOf<number>();
  });

  it('are those of a JSON Schema, as a literal or a constant', () => {
    const literal = defineTool({
      name: 'literal',
      input: {
        type: 'object',
        properties: {
          text: { type: 'string' },
          limit: { type: ['integer', 'null'] },
          kind: { enum: ['a', 'b'] },
          tags: { type: 'array', items: { type: 'string' } },
        },
        required: ['text', 'kind'],
      },
      run: ({ text, limit, kind, tags = [] }) => `${text}${limit}${kind}${tags.join()}`,
    });
    expectTypeOf<ToolInput<typeof literal>>().toEqualTypeOf<{
      text: string;
      kind: 'a' | 'b';
      limit?: number | null;
      tags?: string[];
    }>();
    const SCHEMA = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const;
    const constant = defineTool({ name: 'constant', input: SCHEMA, run: ({ n }) => n * 2 });
    expectTypeOf<ToolInput<typeof constant>>().toEqualTypeOf<{ n: number }>();
  });

  it('are unknown without a schema, and can be given', () => {
    const any = defineTool({ name: 'any', run: (input) => [input] });
    expectTypeOf<ToolInput<typeof any>>().toEqualTypeOf<unknown>();
    expectTypeOf<ToolOutput<typeof any>>().toEqualTypeOf<unknown[]>();
    const annotated = defineTool({ name: 'annotated', run: ({ n }: { n: number }) => n });
    expectTypeOf<ToolInput<typeof annotated>>().toEqualTypeOf<{ n: number }>();
    const given = defineTool<{ n: number }, string>({ name: 'given', run: ({ n }) => String(n) });
    expectTypeOf(given).toEqualTypeOf<Tool<{ n: number }, string>>();
  });

  it('have the result of the output schema, which the function must return', () => {
    const tool = defineTool({
      name: 'output',
      output: z.object({ at: z.coerce.date() }),
      run: () => ({ at: '2026-01-01' as unknown }),
    });
    expectTypeOf<ToolOutput<typeof tool>>().toEqualTypeOf<{ at: Date }>();
    const module = defineTool({
      name: 'module',
      module: 'file:///tool.mjs',
      output: { type: 'object', properties: { words: { type: 'integer' } }, required: ['words'] },
    });
    expectTypeOf<ToolOutput<typeof module>>().toEqualTypeOf<{ words: number }>();
    // @ts-expect-error: a number is not what the schema says.
    types(() => defineTool({ name: 'wrong', output: { type: 'string' }, run: () => 7 }));
  });

  it('describe JSON Schemas as far as they can', () => {
    expectTypeOf<FromJsonSchema<{ const: 7 }>>().toEqualTypeOf<7>();
    expectTypeOf<FromJsonSchema<{ anyOf: [{ type: 'string' }, { type: 'boolean' }] }>>().toEqualTypeOf<
      string | boolean
    >();
    expectTypeOf<
      FromJsonSchema<{ type: 'object'; additionalProperties: { type: 'number' } }>
    >().toEqualTypeOf<{ [key: string]: number }>();
    expectTypeOf<FromJsonSchema<{ $ref: '#/$defs/a' }>>().toEqualTypeOf<unknown>();
    expectTypeOf<FromJsonSchema<{ [keyword: string]: unknown }>>().toEqualTypeOf<unknown>();
  });

  it('are those of its call', () =>
    types(async () => {
      const result = await coordinator.call(zodTool, { text: 'a' });
      expectTypeOf(result).toEqualTypeOf<CallResult<string>>();
      if (result.status === 'completed') expectTypeOf(result.value).toEqualTypeOf<string>();
      if (result.status === 'failed') expectTypeOf(result.error).toEqualTypeOf<CallError>();
      // @ts-expect-error: only a failed call has an error.
      void result.error;
      // @ts-expect-error: text is missing.
      void coordinator.call(zodTool, { times: 2 });
      // @ts-expect-error: a single call has no dependencies.
      void coordinator.call(zodTool, { text: 'a' }, { dependsOn: ['b'] });
      const compress: ParallelAgentTool<{ path: string }, number> = {
        name: 'compress',
        execute: ({ path }) => path.length,
      };
      expectTypeOf(coordinator.call(compress, { path: 'a' })).resolves.toEqualTypeOf<CallResult<number>>();
    }));
});
