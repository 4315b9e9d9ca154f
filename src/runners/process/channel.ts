import { VolleyError } from '../../core/errors.ts';
import { unwritableText } from '../../core/words.ts';
import type { PortableCode } from '../load-code.ts';

/** The maximum nesting depth of a result, so that any later recursion is safe. */
const MAX_DEPTH = 1000;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = 0x7b;
const CLOSING = 0x7d;

/**
 * A result as JSON; undefined is the empty string. The host only parses JSON from a process, whatever runs in it: V8's
 * own format can claim an array of any size in a few bytes, which a hostile process could use against the host. Values
 * that JSON would silently change or drop are rejected, except undefined members and the output of `toJSON` (a Date
 * becomes a string).
 */
export function toJson(result: unknown, toolName: string, maxBytes: number): string {
  let json: string;
  try {
    // Such a long string may exceed the maximum string length; that error is not about the value.
    json = result === undefined ? '' : JSON.stringify(result, rejectUnsupported);
  } catch (cause) {
    if (cause instanceof RangeError && cause.message.includes('string length'))
      throw tooLarge(toolName, undefined, maxBytes);
    throw new VolleyError(
      'UNSERIALISABLE_RESULT',
      `The result of the tool "${toolName}" cannot be sent back: ${unwritableText(cause)}. Return plain data.`,
      { toolName },
      { cause },
    );
  }
  const bytes = Buffer.byteLength(json);
  if (bytes > maxBytes) throw tooLarge(toolName, bytes, maxBytes);
  return json;
}

export function tooLarge(toolName: string, bytes: number | undefined, maxBytes: number): VolleyError {
  return new VolleyError(
    'RESULT_TOO_LARGE',
    `The result of the tool "${toolName}" takes ${bytes === undefined ? 'far ' : `${bytes} bytes, `}more than its limit of ${maxBytes} bytes: return less, or raise \`resultBytes\`.`,
    { toolName, bytes, maxBytes },
  );
}

/** Whether JSON is nested too deeply, checked without parsing it. */
export function isTooDeep(json: Buffer): boolean {
  if (json.length <= 2 * MAX_DEPTH) return false;
  let depth = 0;
  let isText = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (isText) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    // Brackets differ from braces in one bit.
    else if ((byte! | 0x20) === OPENING && ++depth > MAX_DEPTH) return true;
    else if ((byte! | 0x20) === CLOSING) depth--;
  }
  return false;
}

export function tooDeep(toolName: string): VolleyError {
  return new VolleyError(
    'UNSERIALISABLE_RESULT',
    `The result of the tool "${toolName}" is nested more than ${MAX_DEPTH} levels deep. Return flatter data.`,
    { toolName },
  );
}

function rejectUnsupported(this: Readonly<Record<string, unknown>>, key: string, value: unknown): unknown {
  // A Buffer has its own `toJSON`, which returns a list of numbers: hardly ever intended.
  const problem = ArrayBuffer.isView(this[key]) ? 'binary data' : unsupportedKind(value);
  if (problem === undefined) return value;
  throw new TypeError(key === '' ? `it is ${problem}` : `its member "${key}" is ${problem}`);
}

function unsupportedKind(value: unknown): string | undefined {
  switch (typeof value) {
    case 'function':
      return 'a function';
    case 'symbol':
      return 'a symbol';
    case 'bigint':
      return 'a bigint';
    case 'number':
      return Number.isFinite(value) ? undefined : `the number ${value}`;
    case 'object':
      if (value instanceof Map || value instanceof Set) return `a ${value.constructor.name}`;
      if (value instanceof Promise) return 'a promise';
      return value instanceof ArrayBuffer ? 'binary data' : undefined;
    default:
      return undefined;
  }
}

/**
 * The frames between the runner and a tool's process: four bytes of length, one of kind, and the body. The process
 * writes them to descriptor 3, so that nothing a tool prints is taken for a message.
 */

/** The frame kinds. The numbers are on the wire. */
export const FRAME = {
  /** To the process: the call, serialized by V8; this side is trusted, so it may contain more than JSON. */
  call: 1,
  /** To the process: stop; the body is the reason as a wire error in JSON. */
  abort: 2,
  /** From the process: `[share, step]` in JSON, either of them null. */
  progress: 3,
  /** From the process: the result in JSON, or nothing for undefined. */
  result: 4,
  /** From the process: the tool's error, as a wire error in JSON. */
  error: 5,
} as const;

/** The first five bytes of every frame. */
export const HEADER_BYTES = 5;

export function encodeFrame(kind: number, body: Uint8Array | string): Buffer {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const frame = Buffer.allocUnsafe(HEADER_BYTES + bytes.length);
  frame.writeUInt32LE(bytes.length, 0);
  frame.writeUInt8(kind, 4);
  frame.set(bytes, HEADER_BYTES);
  return frame;
}

/** Reassembles frames from chunks. */
export class FrameReader {
  private pieces: Buffer[] = [];
  private length = 0;

  constructor(
    private readonly onFrame: (kind: number, body: Buffer) => void,
    /** Called as soon as the header is known, so that nothing too large is buffered; false stops reading. */
    private readonly accepts: (kind: number, bodyBytes: number) => boolean,
  ) {}

  push(chunk: Buffer): void {
    this.pieces.push(chunk);
    this.length += chunk.length;
    while (this.length >= HEADER_BYTES) {
      const first = this.joinedUntil(HEADER_BYTES);
      const bodyBytes = first.readUInt32LE(0);
      const kind = first.readUInt8(4);
      if (!this.accepts(kind, bodyBytes)) {
        this.pieces = [];
        this.length = 0;
        return;
      }
      const end = HEADER_BYTES + bodyBytes;
      if (this.length < end) return;
      const whole = this.joinedUntil(end);
      this.pieces[0] = whole.subarray(end);
      this.length -= end;
      this.onFrame(kind, whole.subarray(HEADER_BYTES, end));
    }
  }

  /** Joins chunks so that the first one has at least this many bytes. */
  private joinedUntil(bytes: number): Buffer {
    if (this.pieces[0]!.length < bytes) this.pieces = [Buffer.concat(this.pieces, this.length)];
    return this.pieces[0]!;
  }
}

/** A call as sent to the process. */
export interface ChildCall {
  readonly toolName: string;
  readonly code: PortableCode;
  readonly input: unknown;
  readonly id: string;
  readonly attempt: number;
  readonly resultBytes: number;
}
