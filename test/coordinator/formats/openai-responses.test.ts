import type {
  FunctionTool,
  Response,
  ResponseFunctionToolCall,
  ResponseInput,
  ResponseInputItem,
} from 'openai/resources/responses/responses';
import { expect, test } from 'vitest';
import {
  type OpenAIFunctionCall,
  type OpenAIResponse,
  openaiResponsesCalls,
  openaiResponsesResults,
  openaiResponsesTools,
} from '../../../src/coordinator/formats/openai.ts';
import { toolNames } from '../../../src/coordinator/formats/tool-names.ts';
import { RESULTS, TEXTS } from './support/results.ts';
import { TOOLS } from './support/tools.ts';

const RESPONSE = {
  output: [
    { type: 'reasoning', id: 'rs_1', summary: [] },
    { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'files__read', arguments: '{"path":"a"}' },
    { type: 'web_search_call', id: 'ws_1', status: 'completed' },
    { type: 'function_call', id: 'fc_2', call_id: 'call_2', name: 'files__read', arguments: '{"path"' },
    { type: 'function_call', id: 'fc_3', call_id: 'call_3', name: 'now', arguments: '' },
    { type: 'message', id: 'msg_1', role: 'assistant', content: [] },
  ],
};

test('takes the calls out of a response in their order, broken arguments marked', () => {
  expect(openaiResponsesCalls(RESPONSE, toolNames(TOOLS))).toEqual([
    { id: 'call_1', name: 'files.read', arguments: { path: 'a' } },
    { id: 'call_2', name: 'files.read', invalid: expect.stringContaining('not valid JSON') },
    { id: 'call_3', name: 'now', arguments: {} },
  ]);
});

test.each([undefined, {}, { output: 'Hello' }])('refuses what is no response: %j', (response) => {
  expect(() => openaiResponsesCalls(response as unknown as OpenAIResponse)).toThrow(
    'not a response of the Responses API',
  );
});

test('gives results back as items', () => {
  expect(openaiResponsesResults(RESULTS)).toEqual(
    RESULTS.map(({ id }, index) => ({ type: 'function_call_output', call_id: id, output: TEXTS[index] })),
  );
});

test('lists tools as a request takes them', () => {
  expect(openaiResponsesTools(TOOLS)).toEqual([
    {
      type: 'function',
      name: 'files__read',
      description: 'Reads a file.',
      parameters: TOOLS[0]!.inputSchema,
      strict: false,
    },
    { type: 'function', name: 'now', parameters: { type: 'object' }, strict: false },
  ]);
});

test('fits the types of the SDK', () => {
  const asCall = (call: ResponseFunctionToolCall): OpenAIFunctionCall => call;
  const callsOf = (response: Response) => openaiResponsesCalls(response);
  const results: ResponseInputItem.FunctionCallOutput[] = openaiResponsesResults(RESULTS);
  const input: ResponseInput = [...results];
  const tools: FunctionTool[] = openaiResponsesTools(TOOLS);
  expect([asCall, callsOf, input, tools]).toHaveLength(4);
});
