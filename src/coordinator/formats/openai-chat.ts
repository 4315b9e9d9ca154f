import type { CallResult, ToolCall } from '../call.ts';
import { listOf, parsedArguments } from './arguments.ts';
import { resultList, toolList } from './lists.ts';
import { type ToolNames, toolNames } from './names.ts';
import { type ListedTool, type ObjectSchema, objectSchema } from './schemas.ts';
import { shownResult } from './text.ts';

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
  return listOf(
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

/** The answers to calls, in the order of the results; a failure is told in words. */
export function openaiChatResults(results: readonly CallResult[]): OpenAIChatToolMessage[] {
  return resultList(results).map((result) => ({
    role: 'tool',
    tool_call_id: result.id,
    content: shownResult(result).text,
  }));
}
