import type { CallResult, ToolCall } from '../call.ts';
import { listOf, parsedArguments } from './arguments.ts';
import { resultList, toolList } from './lists.ts';
import { type ToolNames, toolNames } from './names.ts';
import { type ListedTool, type ObjectSchema, objectSchema } from './schemas.ts';
import { shownResult } from './text.ts';

/** The item with which a model calls a function. */
export interface OpenAIFunctionCall {
  readonly type: 'function_call';
  /** What the answer refers to; the item's own `id` is another. */
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
}

/** A response of the Responses API, as far as it is read. */
export interface OpenAIResponse {
  readonly output: readonly (OpenAIFunctionCall | { readonly type: string })[];
}

/** The item with which a call is answered. */
export interface OpenAIFunctionCallOutput {
  type: 'function_call_output';
  call_id: string;
  output: string;
}

/** A tool in the list of a request. */
export interface OpenAIFunctionTool {
  type: 'function';
  name: string;
  description?: string;
  parameters: ObjectSchema;
  /** The strict mode takes only a part of JSON Schema, so it is off. */
  strict: false;
}

/** The tools of a request. Give the same names to {@link openaiResponsesCalls}. */
export function openaiResponsesTools(
  tools: readonly ListedTool[],
  names = toolNames(tools),
): OpenAIFunctionTool[] {
  return toolList(tools).map((tool) => ({
    type: 'function',
    name: names.toProvider(tool.name),
    ...(tool.description !== '' && { description: tool.description }),
    parameters: objectSchema(tool),
    strict: false,
  }));
}

/** The calls of functions in a response, in their order. One with broken arguments is among them and will fail alone. */
export function openaiResponsesCalls(response: OpenAIResponse, names?: ToolNames): ToolCall[] {
  return listOf(response?.output, 'a response of the Responses API')
    .filter((item): item is OpenAIFunctionCall => item?.type === 'function_call')
    .map(({ call_id, name, arguments: text }) => ({
      id: call_id,
      name: names?.fromProvider(name) ?? name,
      ...parsedArguments(text),
    }));
}

/** The answers to calls, in the order of the results; a failure is told in words. */
export function openaiResponsesResults(results: readonly CallResult[]): OpenAIFunctionCallOutput[] {
  return resultList(results).map((result) => ({
    type: 'function_call_output',
    call_id: result.id,
    output: shownResult(result).text,
  }));
}
