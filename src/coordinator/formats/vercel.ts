import type { CallResult, ToolCall } from '../call.ts';
import {
  type BinaryPart,
  isPicture,
  type JsonValue,
  requireList,
  resultList,
  shownResult,
} from './common.ts';
import type { ToolNames } from './tool-names.ts';

/** A part with which a model calls a tool: of a message, or of the `toolCalls` of `generateText`. */
export interface VercelToolCall {
  readonly type: 'tool-call';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly providerExecuted?: boolean | undefined;
  /** Set where the SDK could not read the arguments, with an error that says why. */
  readonly invalid?: boolean | undefined;
  readonly error?: unknown;
}

type Part = VercelToolCall | { readonly type: string };

/** An assistant message of the AI SDK, or parts of one. */
export type VercelMessage = readonly Part[] | { readonly content: string | readonly Part[] };

/** A part of an answer with pictures, sound or files. */
export type VercelContent =
  | { type: 'text'; text: string }
  | { type: 'image-data' | 'file-data'; data: string; mediaType: string };

/** The part with which a call is answered; the parts are the content of a message of the role `tool`. */
export interface VercelToolResult {
  type: 'tool-result';
  toolCallId: string;
  toolName: string;
  output:
    | { type: 'text'; value: string }
    | { type: 'json'; value: JsonValue }
    | { type: 'error-text'; value: string }
    | { type: 'content'; value: VercelContent[] };
}

/** The calls of a message, in their order, without those that the provider ran itself. */
export function vercelCalls(message: VercelMessage, names?: ToolNames): ToolCall[] {
  const content = isList(message) ? message : message?.content;
  if (typeof content === 'string') return [];
  return requireList<Part>(content, 'a message of the AI SDK')
    .filter((part): part is VercelToolCall => part?.type === 'tool-call')
    .filter((part) => part.providerExecuted !== true)
    .map((part) => ({
      id: part.toolCallId,
      name: names?.fromProvider(part.toolName) ?? part.toolName,
      ...argumentsOf(part),
    }));
}

/** The answers to calls, in the order of the results. Pictures, sound and files are passed as such. */
export function vercelResults(results: readonly CallResult[], names?: ToolNames): VercelToolResult[] {
  return resultList(results).map((result) => ({
    type: 'tool-result',
    toolCallId: result.id,
    toolName: names?.toProvider(result.name) ?? result.name,
    output: outputOf(result),
  }));
}

function isList(message: VercelMessage): message is readonly Part[] {
  return Array.isArray(message);
}

function argumentsOf({ input, invalid, error }: VercelToolCall): Pick<ToolCall, 'arguments' | 'invalid'> {
  if (invalid !== true) return { arguments: input ?? {} };
  return { invalid: error instanceof Error ? error.message : String(error ?? 'the AI SDK refused them') };
}

function outputOf(result: CallResult): VercelToolResult['output'] {
  const shown = shownResult(result);
  if (shown.isError) return { type: 'error-text', value: shown.text };
  const { value, binary } = shown;
  if (binary.length > 0)
    return { type: 'content', value: [{ type: 'text', text: shown.text }, ...binary.map(fileOf)] };
  return typeof value === 'string' ? { type: 'text', value } : { type: 'json', value };
}

function fileOf(part: BinaryPart): VercelContent {
  return {
    type: isPicture(part) ? 'image-data' : 'file-data',
    data: part.base64,
    mediaType: part.mimeType,
  };
}
