import { VolleyError } from '../../core/errors.ts';
import { show } from '../../core/numbers.ts';
import type { ToolDescription } from '../../tools/registry.ts';
import type { CallResult, ToolCall } from '../call.ts';
import {
  type BinaryPart,
  type JsonValue,
  type ObjectSchema,
  objectSchema,
  shownResult,
  toolList,
} from './common.ts';

/** A request `tools/call` of the Model Context Protocol, as far as it is read. */
export interface McpCallRequest {
  readonly params: {
    readonly name: string;
    readonly arguments?: { readonly [name: string]: unknown } | undefined;
  };
}

/** A block of the result of a call. */
export type McpContent =
  | { type: 'text'; text: string }
  | { type: 'image' | 'audio'; data: string; mimeType: string }
  | { type: 'resource'; resource: { uri: string; mimeType: string; blob: string } };

/** The result of a request `tools/call`. An alias, because the SDK wants further fields to be possible. */
export type McpCallResult = {
  content: McpContent[];
  /** The value once more, where it is an object. */
  structuredContent?: { [key: string]: JsonValue };
  isError?: true;
};

/** A tool in the answer to `tools/list`. */
export interface McpTool {
  name: string;
  description?: string;
  inputSchema: ObjectSchema;
  outputSchema?: ObjectSchema;
  annotations: { readOnlyHint: boolean; idempotentHint: boolean };
}

/** The answer to `tools/list`. The protocol takes the names of tools as they are. */
export function mcpTools(tools: readonly ToolDescription[]): McpTool[] {
  return toolList(tools).map((tool) => ({
    name: tool.name,
    ...(tool.description !== '' && { description: tool.description }),
    inputSchema: objectSchema(tool),
    // A tool with an output schema must always return an object.
    ...(isObjectSchema(tool.outputSchema) && { outputSchema: tool.outputSchema }),
    annotations: { readOnlyHint: tool.readOnly, idempotentHint: tool.idempotent },
  }));
}

/** The call of a request. Its id is the caller's to choose: the protocol's own are numbers that come again. */
export function mcpCall(request: McpCallRequest, id?: string): ToolCall {
  const params = request?.params;
  if (typeof params?.name !== 'string') {
    throw new VolleyError(
      'INVALID_CALL',
      `This is not a tools/call request: params.name must be a string, but it is ${show(params?.name)}.`,
    );
  }
  return { ...(id !== undefined && { id }), name: params.name, arguments: params.arguments ?? {} };
}

/** The answer to a call. Pictures, sound and files are passed as such. */
export function mcpResult(result: CallResult): McpCallResult {
  const shown = shownResult(result);
  const content: McpContent[] = [{ type: 'text', text: shown.text }, ...shown.binary.map(mcpContent)];
  if (shown.isError) return { content, isError: true };
  const { value } = shown;
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? { content, structuredContent: value } : { content };
}

/** Binary data as a block. Of what a server sent, only what the protocol knows is passed on. */
export function mcpContent({ kind, mimeType, base64, block }: BinaryPart): McpContent {
  if (kind !== 'resource') return { type: kind, data: base64, mimeType };
  const { uri } = (block as { resource: { uri?: unknown } }).resource;
  return { type: kind, resource: { uri: String(uri), mimeType, blob: base64 } };
}

function isObjectSchema(schema: ToolDescription['outputSchema']): schema is ObjectSchema {
  const { type } = schema ?? {};
  return type === 'object';
}
