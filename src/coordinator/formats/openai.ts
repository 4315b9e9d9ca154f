import type { CallResult, ToolCall } from '../call.ts';
import {
  isPicture,
  type ListedTool,
  type ObjectSchema,
  objectSchema,
  parsedArguments,
  requireList,
  resultList,
  shownResult,
  toolList,
} from './common.ts';
import { type ToolNames, toolNames } from './tool-names.ts';

/** One entry of `tool_calls`. */
export interface OpenAIChatToolCall {
  readonly type: 'function';
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/** A message of the Chat Completions API, as far as it is read. */
export interface OpenAIChatMessage {
  readonly tool_calls?: readonly (OpenAIChatToolCall | { readonly type: string })[] | null;
}

/** The message with which a call is answered. */
export interface OpenAIChatToolMessage {
  role: 'tool';
  tool_call_id: string;
  content: string;
}

/** A tool in the list of a request. */
export interface OpenAIChatTool {
  type: 'function';
  function: { name: string; description?: string; parameters: ObjectSchema };
}

/** The tools of a request. Give the same names to {@link openaiChatCalls}. */
export function openaiChatTools(tools: readonly ListedTool[], names = toolNames(tools)): OpenAIChatTool[] {
  return toolList(tools).map((tool) => ({
    type: 'function',
    function: {
      name: names.toProvider(tool.name),
      ...(tool.description !== '' && { description: tool.description }),
      parameters: objectSchema(tool),
    },
  }));
}

/** The calls of functions in a message, in their order. One with broken arguments is among them and will fail alone. */
export function openaiChatCalls(message: OpenAIChatMessage, names?: ToolNames): ToolCall[] {
  // A message without calls may have no list of them. What surrounds a message has none either, and no calls get lost.
  const isMessage = ['role', 'content', 'tool_calls'].some((field) => field in Object(message));
  return requireList(
    isMessage ? (message.tool_calls ?? []) : undefined,
    'a message of the Chat Completions API (choices[0].message of its answer)',
  )
    .filter(isFunctionCall)
    .map(({ id, function: { name, arguments: text } }) => ({
      id,
      name: names?.fromProvider(name) ?? name,
      ...parsedArguments(text),
    }));
}

/** Some servers that speak the format leave the type out. */
function isFunctionCall(call: OpenAIChatToolCall | { readonly type: string }): call is OpenAIChatToolCall {
  return (call?.type ?? 'function') === 'function' && Object(call).function !== undefined;
}

/**
 * The answers to calls, in the order of the results. A failure is described in words. This format takes text only: a
 * picture is given as `[image/png, 300 KB]`.
 */
export function openaiChatResults(results: readonly CallResult[]): OpenAIChatToolMessage[] {
  return resultList(results).map((result) => ({
    role: 'tool',
    tool_call_id: result.id,
    content: shownResult(result).text,
  }));
}

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
  output: string | (OpenAIInputText | OpenAIInputImage)[];
}

/** A text in an answer with pictures. */
export interface OpenAIInputText {
  type: 'input_text';
  text: string;
}

/** A picture in an answer. */
export interface OpenAIInputImage {
  type: 'input_image';
  detail: 'auto';
  /** A `data:` URL. */
  image_url: string;
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
  return requireList(response?.output, 'a response of the Responses API')
    .filter((item): item is OpenAIFunctionCall => item?.type === 'function_call')
    .map(({ call_id, name, arguments: text }) => ({
      id: call_id,
      name: names?.fromProvider(name) ?? name,
      ...parsedArguments(text),
    }));
}

/** The answers to calls, in the order of the results. A failure is described in words; pictures are passed as such. */
export function openaiResponsesResults(results: readonly CallResult[]): OpenAIFunctionCallOutput[] {
  return resultList(results).map((result) => ({
    type: 'function_call_output',
    call_id: result.id,
    output: outputOf(result),
  }));
}

function outputOf(result: CallResult): OpenAIFunctionCallOutput['output'] {
  const { text, binary } = shownResult(result);
  const pictures = binary.filter(isPicture);
  if (pictures.length === 0) return text;
  return [
    { type: 'input_text', text },
    ...pictures.map(({ mimeType, base64 }): OpenAIInputImage => {
      return { type: 'input_image', detail: 'auto', image_url: `data:${mimeType};base64,${base64}` };
    }),
  ];
}
