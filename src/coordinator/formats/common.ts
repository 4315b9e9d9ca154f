import { unreachable, VolleyError } from '../../core/errors.ts';
import { parseExactJson } from '../../core/json-numbers.ts';
import { show } from '../../core/numbers.ts';
import {
  base64Bytes,
  binaryLabel,
  binaryOf,
  contentPartsOf,
  replaceBinary,
} from '../../tools/content-parts.ts';
import type { ToolDescription } from '../../tools/registry.ts';
import type { CallResult, ToolCall } from '../call.ts';

const STATUSES: ReadonlySet<unknown> = new Set<CallResult['status']>([
  'completed',
  'failed',
  'cancelled',
  'skipped',
]);

/** Tools as a caller without types gives them. */
export function toolList<T extends { readonly name: string }>(tools: readonly T[]): readonly T[] {
  const expected = 'expected a list of tools, such as coordinator.tools() returns';
  const list = listFrom(tools, expected);
  for (const [index, tool] of list.entries()) {
    const name: unknown = Object(tool).name;
    if (typeof name !== 'string')
      throw invalid(`${expected}, but the name of tool ${index} is ${show(name)}`);
  }
  return list;
}

/** Results as a caller without types gives them. */
export function resultList(results: readonly CallResult[]): readonly CallResult[] {
  const expected = 'expected a list of results, such as executeParallel() returns';
  const list = listFrom(results, expected);
  for (const [index, result] of list.entries()) {
    const status: unknown = Object(result).status;
    if (!STATUSES.has(status))
      throw invalid(`${expected}, but the status of result ${index} is ${show(status)}`);
  }
  return list;
}

function listFrom<T>(given: readonly T[], expected: string): readonly T[] {
  if (Array.isArray(given)) return given;
  const isPromise = typeof Object(given).then === 'function';
  throw invalid(`${expected}, but this is ${isPromise ? 'a promise: await it first' : show(given)}`);
}

function invalid(message: string): VolleyError {
  return new VolleyError('INVALID_VALUE', `${message[0]!.toUpperCase()}${message.slice(1)}.`);
}

/**
 * Arguments that came as JSON text. Models write broken JSON now and then: that is the failure of one call, not of the
 * message. An empty string means no arguments.
 */
export function parsedArguments(text: unknown): Pick<ToolCall, 'arguments' | 'invalid'> {
  // Some servers that speak the format give the object itself.
  if (typeof text !== 'string') return { arguments: text ?? {} };
  if (text.trim() === '') return { arguments: {} };
  try {
    return { arguments: parseExactJson(text) ?? {} };
  } catch (error) {
    if (error instanceof VolleyError) return { invalid: error.message };
    return { invalid: `not valid JSON: ${(error as Error).message}` };
  }
}

/** A list of a message; an error says which message was expected. */
export function requireList<T>(list: readonly T[] | null | undefined, expected: string): readonly T[] {
  if (Array.isArray(list)) return list;
  throw new VolleyError('INVALID_CALL', `This is not ${expected}: expected a list, but got ${show(list)}.`);
}

/** What a provider must know of a tool. */
export type ListedTool = Pick<ToolDescription, 'name' | 'description' | 'inputSchema'>;

/** A schema whose outermost type is said to be an object. */
export type ObjectSchema = { [keyword: string]: unknown } & { type: 'object' };

/** All providers pass arguments as an object and want the schema to say so. */
export function objectSchema({ name, inputSchema }: ListedTool): ObjectSchema {
  if (typeof inputSchema !== 'object' || inputSchema === null) {
    throw new VolleyError(
      'INVALID_TOOL',
      `Tool ${name}: its inputSchema must be a JSON Schema, but it is ${show(inputSchema)}. Pass the list that coordinator.tools() returns.`,
      { tool: name },
    );
  }
  const { type } = inputSchema;
  const isObject =
    type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));
  if (isObject) return { ...inputSchema, type: 'object' };
  throw new VolleyError(
    'INVALID_TOOL',
    `Tool ${name}: its input is of type ${show(type)}, but models can pass only objects. Wrap it in one, or do not list the tool.`,
    { tool: name },
  );
}

/** What JSON can say. */
export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };

/** A result as a provider can take it: the value, or words that a model can act on. */
export type ShownResult =
  | {
      readonly isError: false;
      /** With labels such as `[image/png, 300 KB]` in place of pictures, sound and files. */
      readonly value: JsonValue;
      readonly text: string;
      /** Those, as base64, for providers that can take them. */
      readonly binary: readonly BinaryPart[];
    }
  | { readonly isError: true; readonly text: string; readonly binary: readonly [] };

/** A content block with binary data. */
export interface BinaryPart {
  readonly kind: 'image' | 'audio' | 'resource';
  readonly mimeType: string;
  readonly base64: string;
  readonly block: object;
}

/** The pictures that all providers take. */
const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

export function isPicture({ kind, mimeType }: BinaryPart): boolean {
  return kind === 'image' && PICTURES.has(mimeType);
}

const NO_VALUE = '(no result)';

/** A text is given as it is, everything else as JSON. */
export function shownResult(result: CallResult): ShownResult {
  if (result.status !== 'completed') return { isError: true, text: failureText(result), binary: [] };
  const { value } = result;
  const binary = binaryParts(value);
  if (typeof value === 'string') return { isError: false, value, text: value, binary };
  try {
    const labeled = replaceBinary(value, ({ mimeType }, base64) =>
      binaryLabel(mimeType, base64Bytes(base64)),
    );
    const json = JSON.stringify(labeled, (_, part) => (typeof part === 'bigint' ? String(part) : part));
    if (json === undefined) return { isError: false, value: null, text: NO_VALUE, binary };
    return { isError: false, value: JSON.parse(json), text: json, binary };
  } catch (error) {
    return {
      isError: true,
      text: `completed, but the result cannot be written as JSON: ${error}`,
      binary: [],
    };
  }
}

function binaryParts(value: unknown): BinaryPart[] {
  return contentPartsOf(value).flatMap((part) => {
    const { kind, mimeType, data } = binaryOf(part) ?? {};
    if (kind === undefined || mimeType === undefined || typeof data !== 'string') return [];
    return [{ kind, mimeType, base64: data, block: part as object }];
  });
}

function failureText(result: Exclude<CallResult, { status: 'completed' }>): string {
  switch (result.status) {
    case 'failed': {
      const { reason, error, attempts } = result;
      const why = reason === 'error' && error.code !== undefined ? error.code : reason;
      return `failed (${why})${attempts > 1 ? ` after ${attempts} attempts` : ''}: ${error.message}`;
    }
    case 'cancelled':
      return `cancelled: ${result.reason}`;
    case 'skipped':
      return result.cause === undefined
        ? 'skipped: a call it depends on did not end as required'
        : `skipped: it depends on call ${result.cause}, which did not end as required`;
    default:
      return unreachable(result);
  }
}
