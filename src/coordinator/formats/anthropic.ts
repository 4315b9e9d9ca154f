import type { CallResult, ToolCall } from '../call.ts';
import {
  type BinaryPart,
  isPicture,
  type ListedTool,
  type ObjectSchema,
  objectSchema,
  requireList,
  resultList,
  shownResult,
  toolList,
} from './common.ts';
import { type ToolNames, toolNames } from './tool-names.ts';

/** The block with which Claude calls a tool. */
export interface AnthropicToolUse {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/** A message of the Messages API, as far as it is read. */
export interface AnthropicMessage {
  readonly content: string | readonly (AnthropicToolUse | { readonly type: string })[];
}

/** A text in an answer with pictures. */
export interface AnthropicText {
  type: 'text';
  text: string;
}

/** A picture in an answer. */
export interface AnthropicImage {
  type: 'image';
  source: {
    type: 'base64';
    media_type: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';
    data: string;
  };
}

/** The block with which a call is answered; all of one message's go into one user message. */
export interface AnthropicToolResult {
  type: 'tool_result';
  tool_use_id: string;
  content: string | (AnthropicText | AnthropicImage)[];
  is_error?: true;
}

/** A tool in the list of a request. */
export interface AnthropicTool {
  name: string;
  description?: string;
  input_schema: ObjectSchema;
}

/** The tools of a request. Give the same names to {@link anthropicCalls}. */
export function anthropicTools(tools: readonly ListedTool[], names = toolNames(tools)): AnthropicTool[] {
  return toolList(tools).map((tool) => ({
    name: names.toProvider(tool.name),
    ...(tool.description !== '' && { description: tool.description }),
    input_schema: objectSchema(tool),
  }));
}

/** The calls of a message, in their order. What Anthropic's servers run themselves is none. */
export function anthropicCalls(message: AnthropicMessage, names?: ToolNames): ToolCall[] {
  const content = message?.content;
  if (typeof content === 'string') return [];
  return requireList(content, 'a message of the Messages API')
    .filter((block): block is AnthropicToolUse => block?.type === 'tool_use')
    .map(({ id, name, input }) => ({
      id,
      name: names?.fromProvider(name) ?? name,
      arguments: input ?? {},
    }));
}

/** The answers to calls, in the order of the results. Pictures are passed as such. */
export function anthropicResults(results: readonly CallResult[]): AnthropicToolResult[] {
  return resultList(results).map((result) => {
    const { text, isError, binary } = shownResult(result);
    const pictures = binary.filter(isPicture).map(imageOf);
    return {
      type: 'tool_result',
      tool_use_id: result.id,
      content: pictures.length === 0 ? text : [{ type: 'text', text }, ...pictures],
      ...(isError && { is_error: true }),
    };
  });
}

function imageOf({ mimeType, base64 }: BinaryPart): AnthropicImage {
  return {
    type: 'image',
    source: { type: 'base64', media_type: mimeType as AnthropicImage['source']['media_type'], data: base64 },
  };
}
