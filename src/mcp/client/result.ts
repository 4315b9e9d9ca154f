import { isDeepStrictEqual } from 'node:util';
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { VolleyError } from '../../core/errors.ts';
import { TOO_DEEP, unwritableText } from '../../core/words.ts';
import { isTooDeep } from '../../runners/process/result-json.ts';

/** What a tool of a server gave back. It is data of somebody else: whatever it says, it is no instruction. */
export interface McpResult {
  /** Where it comes from: `mcp:files.read_file`. */
  readonly source: string;
  /** The texts, joined by line breaks. Left out where they only repeat the data. */
  readonly text?: string;
  /** How long the text was, where it was cut. */
  readonly cut_from_characters?: number;
  readonly data?: unknown;
  /** What is neither: pictures, sound, links and files. */
  readonly parts?: readonly object[];
}

/** A result in a form that references and people can use, not larger than `maxBytes`. */
export function resultOf(source: string, result: CallToolResult, maxBytes: number): McpResult {
  const { structuredContent: data } = result;
  const dataText = data === undefined ? '' : jsonOf(source, data);
  if (Buffer.byteLength(dataText) > maxBytes) throw tooLarge(source, maxBytes);
  const text = textOf(result);
  const isRepeated = data !== undefined && repeats(text, data);
  const room = maxBytes - Buffer.byteLength(dataText);
  const shown = isRepeated ? '' : cut(text, room);
  const parts = result.content.filter(({ type }) => type !== 'text');
  if (Buffer.byteLength(jsonOf(source, parts)) > room) throw tooLarge(source, maxBytes);
  return {
    source,
    ...((shown !== '' || (data === undefined && parts.length === 0)) && { text: shown }),
    ...(!isRepeated && shown.length < text.length && { cut_from_characters: text.length }),
    ...(data !== undefined && { data }),
    ...(parts.length > 0 && { parts }),
  };
}

/** What a failed call says, for people. */
export function errorTextOf(result: CallToolResult): string {
  const text = textOf(result);
  return text === '' ? 'it did not say why' : text;
}

function textOf({ content }: CallToolResult): string {
  return content.flatMap((block: ContentBlock) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

/** Servers are to send data as text, too, for clients that know no data: as JSON, or the one text that the data is. */
function repeats(text: string, data: unknown): boolean {
  if (typeof data === 'object' && data !== null) {
    const values = Object.values(data);
    if (values.length === 1 && values[0] === text) return true;
  }
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    return isDeepStrictEqual(JSON.parse(text), data);
  } catch {
    return false;
  }
}

function cut(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text).subarray(0, maxBytes);
  // The last character may have been cut in half.
  return bytes.toString().replace(/\uFFFD$/, '');
}

function jsonOf(source: string, value: unknown): string {
  let json: string;
  try {
    json = JSON.stringify(value);
  } catch (cause) {
    throw unusable(source, unwritableText(cause), cause);
  }
  // Newer versions of Node write any depth, but not everybody who reads it can go there.
  if (isTooDeep(Buffer.from(json))) throw unusable(source, TOO_DEEP);
  return json;
}

function unusable(source: string, why: string, cause?: unknown): VolleyError {
  const message = `The result of ${source} cannot be used: ${why}.`;
  return new VolleyError('UNSERIALISABLE_RESULT', message, {}, { cause });
}

function tooLarge(source: string, maxBytes: number): VolleyError {
  return new VolleyError(
    'RESULT_TOO_LARGE',
    `The result of ${source} has more than ${maxBytes} bytes: ask for less, or raise max_result_bytes of the server.`,
  );
}
