import type { FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { defineTool } from '../define-tool.ts';
import type { Tool } from '../tool.ts';
import type { ToolEnvironment } from './environment.ts';
import { PATH, TEXT_ENCODING } from './input-fields.ts';
import { memoryForMb } from './needs.ts';
import { fileFailure, permanentFailure, quoted } from './refusal.ts';
import { openFile } from './regular-file.ts';
import { Roots } from './roots.ts';
import { decodeText, isContinuation } from './text-search.ts';

/** A byte range of a file; the end is exclusive. */
interface ByteRange {
  readonly from: number;
  readonly to: number;
}

const CHUNK_BYTES = 64 * 1024;
/** The most continuation bytes of a UTF-8 character. */
const MAX_TAIL_BYTES = 3;

/**
 * Reads a part of a file. For text, returns the characters that start in the range, so that adjacent parts form the
 * whole; a part may end slightly later than requested.
 */
export async function readRange(
  handle: FileHandle,
  range: ByteRange,
  asText: boolean,
  signal: AbortSignal,
): Promise<{ from: number; bytes: Buffer }> {
  const { from } = range;
  const length = range.to - from;
  const buffer = Buffer.allocUnsafe(length + (asText ? MAX_TAIL_BYTES : 0));
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
  while (from > 0 && start < Math.min(filled, MAX_TAIL_BYTES) && isContinuation(buffer[start])) start++;
  let end = Math.min(length, filled);
  while (end < filled && isContinuation(buffer[end])) end++;
  return { from: from + start, bytes: buffer.subarray(start, Math.max(start, end)) };
}

/** Finds the byte range of lines; scans at most `maxBytes` of them. */
async function lineRange(
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
    // The rest is truncated anyway, so the end of the lines need not be known.
    if (from !== undefined && position > from + maxBytes) return { from, to: Infinity };
  }
}

const COUNT = z.int().min(0);

const INPUT = z
  .strictObject({
    path: PATH.describe('The file to read, relative to the working folder or absolute.'),
    encoding: TEXT_ENCODING.describe('How the content is returned: utf8 for text, base64 for anything else.'),
    start_line: z.int().min(1).optional().describe('The first line to read, counted from 1. For text only.'),
    line_count: COUNT.optional().describe('How many lines to read. Default: the rest.'),
    offset: COUNT.optional().describe('The first byte to read, counted from 0. Not together with lines.'),
    length: COUNT.optional().describe('How many bytes to read. Default: the rest.'),
  })
  .refine((input) => !hasLines(input) || (input.offset === undefined && input.length === undefined), {
    error: 'give either start_line and line_count or offset and length, not both',
  })
  .refine((input) => !hasLines(input) || input.encoding === 'utf8', {
    error: 'lines work only for text; use offset and length with base64',
  });

type ReadFileInput = z.infer<typeof INPUT>;

const OUTPUT = z.object({
  path: z.string(),
  content: z.string(),
  encoding: z.enum(['utf8', 'base64']),
  offset: z.number().describe('Where the content starts in the file.'),
  bytes: z.number().describe('The number of file bytes that the content represents.'),
  total_bytes: z.number(),
  truncated: z.boolean().describe('Whether the byte limit truncated the requested part.'),
  next_offset: z.number().exactOptional().describe('Where to continue, if the file has more.'),
  start_line: z.number().exactOptional(),
  line_count: z.number().exactOptional().describe('Lines in the content; the last one may be partial.'),
});

type ReadFileResult = z.infer<typeof OUTPUT>;

/** Reads a file or a part of it. */
export function readFileTool(
  environment: ToolEnvironment,
  roots = new Roots(environment.roots, undefined, environment.protection),
): Tool<ReadFileInput, ReadFileResult> {
  const { maxBytes } = environment.files;
  return defineTool<ReadFileInput, ReadFileResult>({
    name: 'read_file',
    description: `Reads a file, or some of its lines or bytes: at most ${maxBytes} bytes at once. next_offset says where to continue.`,
    input: INPUT,
    output: OUTPUT,
    readOnly: true,
    resources: ({ path, length = maxBytes }) => ({
      cpu: 0.1,
      memoryMb: memoryForMb(Math.min(length, maxBytes)),
      io: 'low',
      shared: [roots.lockName(path)],
    }),
    run: async (input, { signal }) => {
      try {
        return await read(input, roots, maxBytes, signal);
      } catch (error) {
        throw fileFailure('read', input.path, error);
      }
    },
  });
}

async function read(
  input: ReadFileInput,
  roots: Roots,
  maxBytes: number,
  signal: AbortSignal,
): Promise<ReadFileResult> {
  const { path, encoding } = input;
  const { handle, stats } = await openFile(roots, path);
  try {
    const wanted = hasLines(input)
      ? await lineRange(handle, input.start_line ?? 1, input.line_count ?? Infinity, maxBytes, signal)
      : { from: input.offset ?? 0, to: (input.offset ?? 0) + (input.length ?? Infinity) };
    const to = Math.min(wanted.to, wanted.from + maxBytes, Math.max(stats.size, wanted.from));
    const range = await readRange(handle, { from: wanted.from, to }, encoding === 'utf8', signal);
    const end = range.from + range.bytes.length;
    return {
      path,
      content: encoding === 'base64' ? range.bytes.toString('base64') : textOf(range.bytes, path),
      encoding,
      offset: range.from,
      bytes: range.bytes.length,
      total_bytes: stats.size,
      truncated: end < Math.min(wanted.to, stats.size),
      ...(end < stats.size && { next_offset: end }),
      ...(hasLines(input) && { start_line: input.start_line ?? 1, line_count: linesIn(range.bytes) }),
    };
  } finally {
    await handle.close();
  }
}

function hasLines({
  start_line,
  line_count,
}: {
  start_line?: number | undefined;
  line_count?: number | undefined;
}): boolean {
  return start_line !== undefined || line_count !== undefined;
}

function textOf(bytes: Buffer, path: string): string {
  const text = decodeText(bytes);
  if (text !== undefined) return text;
  throw permanentFailure(`${quoted(path)} is not UTF-8 text. Read it with encoding "base64" instead.`);
}

function linesIn(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) count++;
  return bytes.length > 0 && bytes.at(-1) !== 10 ? count + 1 : count;
}
