import type {
  AssistantModelMessage,
  DynamicToolCall,
  ModelMessage,
  ToolCallPart,
  ToolModelMessage,
  ToolResultPart,
  ToolSet,
  TypedToolCall,
} from 'ai';
import { expect, test } from 'vitest';
import { toolNames } from '../../../src/coordinator/formats/tool-names.ts';
import {
  type VercelMessage,
  type VercelToolCall,
  vercelCalls,
  vercelResults,
} from '../../../src/coordinator/formats/vercel.ts';
import { RESULTS, TEXTS } from './support/results.ts';
import { TOOLS } from './support/tools.ts';

const PARTS = [
  { type: 'reasoning', text: 'Two files.' },
  { type: 'text', text: 'I read both.' },
  { type: 'tool-call', toolCallId: 'call_1', toolName: 'files__read', input: { path: 'a' } },
  { type: 'tool-call', toolCallId: 'call_2', toolName: 'web_search', input: {}, providerExecuted: true },
  { type: 'tool-call', toolCallId: 'call_3', toolName: 'now', input: undefined },
];

test('takes the calls out of a message in their order, without those that the provider ran', () => {
  const expected = [
    { id: 'call_1', name: 'files.read', arguments: { path: 'a' } },
    { id: 'call_3', name: 'now', arguments: {} },
  ];
  expect(vercelCalls({ role: 'assistant', content: PARTS } as VercelMessage, toolNames(TOOLS))).toEqual(
    expected,
  );
  expect(vercelCalls(PARTS, toolNames(TOOLS))).toEqual(expected);
});

test('keeps a call that the SDK found invalid, with its reason', () => {
  const call = {
    type: 'tool-call',
    toolCallId: 'call_1',
    toolName: 'now',
    input: '{',
    dynamic: true,
    invalid: true,
  };
  const explained = { ...call, error: new Error('bad JSON') };
  expect(vercelCalls([explained, call])).toEqual([
    { id: 'call_1', name: 'now', invalid: 'bad JSON' },
    { id: 'call_1', name: 'now', invalid: 'the AI SDK refused them' },
  ]);
});

test('finds no calls in a plain text', () => {
  expect(vercelCalls({ content: 'Hello' })).toEqual([]);
});

test.each([undefined, {}, { content: 7 }])('refuses what is no message: %j', (message) => {
  expect(() => vercelCalls(message as unknown as VercelMessage)).toThrow('not a message of the AI SDK');
});

test('gives results back as parts, under the names that the provider knows', () => {
  expect(vercelResults(RESULTS, toolNames(TOOLS))).toEqual(
    [
      { type: 'text', value: 'a text' },
      { type: 'json', value: { rows: [1, 2], when: '1970-01-01T00:00:00.000Z' } },
      { type: 'json', value: [true, null, '10'] },
      { type: 'json', value: null },
      ...TEXTS.slice(4).map((value) => ({ type: 'error-text', value })),
    ].map((output, index) => ({
      type: 'tool-result',
      toolCallId: RESULTS[index]!.id,
      toolName: 'files__read',
      output,
    })),
  );
});

test('fits the types of the SDK', () => {
  const asCall = (part: ToolCallPart | DynamicToolCall | TypedToolCall<ToolSet>): VercelToolCall => part;
  const callsOf = (message: AssistantModelMessage) => vercelCalls(message);
  const callsOfResult = (result: { toolCalls: TypedToolCall<ToolSet>[] }) => vercelCalls(result.toolCalls);
  const results: ToolResultPart[] = vercelResults(RESULTS);
  const answer: ToolModelMessage & ModelMessage = { role: 'tool', content: results };
  expect([asCall, callsOf, callsOfResult, answer]).toHaveLength(4);
});
