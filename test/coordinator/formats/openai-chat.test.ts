import type {
  ChatCompletionFunctionTool,
  ChatCompletionMessage,
  ChatCompletionMessageFunctionToolCall,
  ChatCompletionMessageParam,
  ChatCompletionToolMessageParam,
} from 'openai/resources/chat/completions';
import { expect, test } from 'vitest';
import {
  type OpenAIChatMessage,
  type OpenAIChatToolCall,
  openaiChatCalls,
  openaiChatResults,
  openaiChatTools,
} from '../../../src/coordinator/formats/openai.ts';
import { toolNames } from '../../../src/coordinator/formats/tool-names.ts';
import { RESULTS, TEXTS } from './support/results.ts';
import { TOOLS } from './support/tools.ts';

const call = (id: string, text: unknown, name = 'files__read') => ({
  id,
  type: 'function',
  function: { name, arguments: text as string },
});

const message = (...calls: OpenAIChatMessage['tool_calls'] & object) => ({
  role: 'assistant',
  content: null,
  refusal: null,
  tool_calls: calls,
});

test('takes the calls out of a message in their order', () => {
  const calls = openaiChatCalls(
    message(call('call_1', '{"path":"a"}'), call('call_2', '{"path":"b"}'), call('call_3', '{}', 'now')),
    toolNames(TOOLS),
  );
  expect(calls).toEqual([
    { id: 'call_1', name: 'files.read', arguments: { path: 'a' } },
    { id: 'call_2', name: 'files.read', arguments: { path: 'b' } },
    { id: 'call_3', name: 'now', arguments: {} },
  ]);
});

test('keeps a call whose arguments are broken, with what is wrong, next to the good ones', () => {
  expect(openaiChatCalls(message(call('call_1', '{"path":"a'), call('call_2', '{"path":"b"}')))).toEqual([
    {
      id: 'call_1',
      name: 'files__read',
      invalid: expect.stringMatching(/^not valid JSON: .*JSON/),
    },
    { id: 'call_2', name: 'files__read', arguments: { path: 'b' } },
  ]);
});

test.each([
  ['', {}],
  [' \n', {}],
  ['null', {}],
  [undefined, {}],
  [{ path: 'a' }, { path: 'a' }],
  ['[1]', [1]],
  ['"a"', 'a'],
])('takes the arguments %j for %j', (text, expected) => {
  expect(openaiChatCalls(message(call('call_1', text)))).toEqual([
    { id: 'call_1', name: 'files__read', arguments: expected },
  ]);
});

test('leaves out calls of tools that are no functions', () => {
  const custom = { id: 'call_1', type: 'custom', custom: { name: 'grammar', input: 'a' } };
  expect(openaiChatCalls(message(custom, call('call_2', '{}', 'now')))).toMatchObject([{ id: 'call_2' }]);
});

test.each([{ content: 'Hello' }, { tool_calls: null }, { tool_calls: [] }])(
  'finds no calls in %j',
  (given) => {
    expect(openaiChatCalls(given as OpenAIChatMessage)).toEqual([]);
  },
);

test('takes a call without a type for one of a function, as some servers send it', () => {
  const { type, ...untyped } = call('call_1', '{"path":"a"}');
  expect(openaiChatCalls(message(untyped as typeof untyped & { type: string }))).toEqual([
    { id: 'call_1', name: 'files__read', arguments: { path: 'a' } },
  ]);
});

const ANSWER = { choices: [{ message: message(call('call_1', '{}')) }] };

test.each([undefined, null, 'text', [], { tool_calls: 7 }, ANSWER, ANSWER.choices[0]])(
  'refuses what is no message: %j',
  (given) => {
    expect(() => openaiChatCalls(given as unknown as OpenAIChatMessage)).toThrow(
      'not a message of the Chat Completions API',
    );
  },
);

test('gives results back as messages', () => {
  expect(openaiChatResults(RESULTS)).toEqual(
    RESULTS.map(({ id }, index) => ({ role: 'tool', tool_call_id: id, content: TEXTS[index] })),
  );
});

test('lists tools as a request takes them', () => {
  expect(openaiChatTools(TOOLS)).toEqual([
    {
      type: 'function',
      function: { name: 'files__read', description: 'Reads a file.', parameters: TOOLS[0]!.inputSchema },
    },
    { type: 'function', function: { name: 'now', parameters: { type: 'object' } } },
  ]);
});

test('fits the types of the SDK', () => {
  const asCall = (each: ChatCompletionMessageFunctionToolCall): OpenAIChatToolCall => each;
  const callsOf = (each: ChatCompletionMessage) => openaiChatCalls(each);
  const results: ChatCompletionToolMessageParam[] = openaiChatResults(RESULTS);
  const messages: ChatCompletionMessageParam[] = [...results];
  const tools: ChatCompletionFunctionTool[] = openaiChatTools(TOOLS);
  expect([asCall, callsOf, messages, tools]).toHaveLength(4);
});
