import type {
  Message,
  MessageParam,
  Tool,
  ToolResultBlockParam,
  ToolUseBlock,
} from '@anthropic-ai/sdk/resources/messages';
import { expect, test } from 'vitest';
import {
  type AnthropicMessage,
  type AnthropicToolUse,
  anthropicCalls,
  anthropicResults,
  anthropicTools,
} from '../../../src/coordinator/formats/anthropic.ts';
import { toolNames } from '../../../src/coordinator/formats/tool-names.ts';
import { RESULTS, TEXTS } from './support/results.ts';
import { TOOLS } from './support/tools.ts';

const MESSAGE = {
  id: 'msg_01',
  type: 'message',
  role: 'assistant',
  content: [
    { type: 'thinking', thinking: 'Two files.', signature: 'c2ln' },
    { type: 'text', text: 'I read both.', citations: null },
    {
      type: 'tool_use',
      id: 'toolu_01',
      name: 'files__read',
      input: { path: 'a' },
      caller: { type: 'direct' },
    },
    {
      type: 'server_tool_use',
      id: 'srvtoolu_01',
      name: 'web_search',
      input: { query: 'a' },
      caller: { type: 'direct' },
    },
    { type: 'tool_use', id: 'toolu_02', name: 'now', input: {}, caller: { type: 'direct' } },
  ],
  stop_reason: 'tool_use',
} as const;

test('takes the calls out of a message in their order, and nothing else', () => {
  expect(anthropicCalls(MESSAGE, toolNames(TOOLS))).toEqual([
    { id: 'toolu_01', name: 'files.read', arguments: { path: 'a' } },
    { id: 'toolu_02', name: 'now', arguments: {} },
  ]);
});

test('leaves the names alone where none are given', () => {
  expect(anthropicCalls(MESSAGE).map(({ name }) => name)).toEqual(['files__read', 'now']);
});

test('finds no calls in a plain text', () => {
  expect(anthropicCalls({ content: 'Hello' })).toEqual([]);
});

test.each([undefined, null, {}, { content: 7 }])('refuses what is no message: %j', (message) => {
  expect(() => anthropicCalls(message as unknown as AnthropicMessage)).toThrow(
    'not a message of the Messages API',
  );
});

test('gives results back as blocks, failures marked as errors', () => {
  expect(anthropicResults(RESULTS)).toEqual(
    RESULTS.map(({ id }, index) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: TEXTS[index],
      ...(index >= 4 && { is_error: true }),
    })),
  );
});

test('lists tools as a request takes them', () => {
  expect(anthropicTools(TOOLS)).toEqual([
    { name: 'files__read', description: 'Reads a file.', input_schema: TOOLS[0]!.inputSchema },
    { name: 'now', input_schema: { type: 'object' } },
  ]);
});

test('fits the types of the SDK', () => {
  const asUse = (block: ToolUseBlock): AnthropicToolUse => block;
  const callsOf = (message: Message | MessageParam) => anthropicCalls(message);
  const results: ToolResultBlockParam[] = anthropicResults(RESULTS);
  const answer: MessageParam = { role: 'user', content: results };
  const tools: Tool[] = anthropicTools(TOOLS);
  expect([asUse, callsOf, answer, tools]).toHaveLength(4);
});
