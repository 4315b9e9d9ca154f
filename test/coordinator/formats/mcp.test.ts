import {
  type CallToolRequestSchema,
  CallToolResultSchema,
  ListToolsResultSchema,
  type ToolSchema,
} from '@modelcontextprotocol/core';
import { expect, test } from 'vitest';
import type { z } from 'zod';
import { type McpCallRequest, mcpCall, mcpResult, mcpTools } from '../../../src/coordinator/formats/mcp.ts';
import { completed, RESULTS, TEXTS } from './support/results.ts';
import { TOOLS } from './support/tools.ts';

const request = (params: object) =>
  ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }) as unknown as McpCallRequest;

test('takes the call out of a request', () => {
  expect(mcpCall(request({ name: 'files.read', arguments: { path: 'a' } }))).toEqual({
    name: 'files.read',
    arguments: { path: 'a' },
  });
  expect(mcpCall(request({ name: 'now' }), 'session-1')).toEqual({
    id: 'session-1',
    name: 'now',
    arguments: {},
  });
});

test.each([undefined, {}, { params: {} }, { params: { name: 7 } }])(
  'refuses what is no request: %j',
  (given) => {
    expect(() => mcpCall(given as unknown as McpCallRequest)).toThrow('not a tools/call request');
  },
);

test('gives a result back as text, as an object where it is one, and failures as errors', () => {
  expect(RESULTS.map(mcpResult)).toEqual(
    TEXTS.map((text, index) => ({
      content: [{ type: 'text', text }],
      ...(index === 1 && { structuredContent: { rows: [1, 2], when: '1970-01-01T00:00:00.000Z' } }),
      ...(index >= 4 && { isError: true }),
    })),
  );
});

test('gives what the protocol takes', () => {
  for (const result of [...RESULTS, completed('i', null), completed('j', 7)]) {
    expect(CallToolResultSchema.parse(mcpResult(result))).toEqual(mcpResult(result));
  }
  expect(ListToolsResultSchema.parse({ tools: mcpTools(TOOLS) })).toEqual({ tools: mcpTools(TOOLS) });
});

test('lists tools under their own names, with an output schema only where results are objects', () => {
  expect(mcpTools(TOOLS)).toEqual([
    {
      name: 'files.read',
      description: 'Reads a file.',
      inputSchema: TOOLS[0]!.inputSchema,
      outputSchema: TOOLS[0]!.outputSchema,
      annotations: { readOnlyHint: true, idempotentHint: true },
    },
    {
      name: 'now',
      inputSchema: { type: 'object' },
      annotations: { readOnlyHint: true, idempotentHint: false },
    },
  ]);
});

test('fits the types of the SDK', () => {
  const callOf = (each: z.infer<typeof CallToolRequestSchema>) => mcpCall(each);
  const results: z.input<typeof CallToolResultSchema>[] = RESULTS.map(mcpResult);
  const tools: z.input<typeof ToolSchema>[] = mcpTools(TOOLS);
  expect([callOf, results, tools]).toHaveLength(3);
});
