import type { FileHandle } from 'node:fs/promises';
import { isContinuation } from './text.ts';

/** Bytes of a file, the last one not included. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

const CHUNK_BYTES = 64 * 1024;
/** How many bytes of a UTF-8 character can follow its first. */
const LONGEST_TAIL = 3;

/**
 * Reads a part of a file. Of text it gives the characters that begin in the range, so that parts which follow each
 * other make up the whole; the last may end a little later than was asked for.
 */
export async function readRange(
  handle: FileHandle,
  range: ByteRange,
  asText: boolean,
  signal: AbortSignal,
): Promise<{ from: number; bytes: Buffer }> {
  const { from } = range;
  const length = range.to - from;
  const buffer = Buffer.allocUnsafe(length + (asText ? LONGEST_TAIL : 0));
  let filled = 0;
  while (filled < buffer.length) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(
      buffer,
      filled,
      Math.min(CHUNK_BYTES * 16, buffer.length - filled),
      from + filled,
    );
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  if (!asText) return { from, bytes: buffer.subarray(0, filled) };
  let start = 0;
  while (from > 0 && start < Math.min(filled, LONGEST_TAIL) && isContinuation(buffer[start])) start++;
  let end = Math.min(length, filled);
  while (end < filled && isContinuation(buffer[end])) end++;
  return { from: from + start, bytes: buffer.subarray(start, Math.max(start, end)) };
}

/** Where lines stand in a file; looks no further than `maxBytes` into them. */
export async function lineRange(
  handle: FileHandle,
  startLine: number,
  lineCount: number,
  maxBytes: number,
  signal: AbortSignal,
): Promise<ByteRange> {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  const lastLine = startLine + lineCount;
  let line = 1;
  let from = startLine === 1 ? 0 : undefined;
  if (lineCount === 0) return { from: 0, to: 0 };
  for (let position = 0; ; ) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, position);
    if (bytesRead === 0) return { from: from ?? position, to: position };
    const chunk = buffer.subarray(0, bytesRead);
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) {
      line++;
      if (line === startLine) from = position + at + 1;
      if (line === lastLine) return { from: from!, to: position + at + 1 };
    }
    position += bytesRead;
    // What lies beyond is cut off anyway, so the end of the lines need not be known.
    if (from !== undefined && position > from + maxBytes) return { from, to: Infinity };
  }
}
