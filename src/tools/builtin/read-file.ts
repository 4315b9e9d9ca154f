import { z } from 'zod';
import { defineTool } from '../define-tool.ts';
import type { Tool } from '../tool.ts';
import type { ToolEnvironment } from './environment.ts';
import { lineRange, readRange } from './file-range.ts';
import { PATH, TEXT_ENCODING } from './inputs.ts';
import { memoryForMb } from './needs.ts';
import { fileFailure, permanentFailure, quoted } from './refusal.ts';
import { openFile } from './regular-file.ts';
import { Roots } from './roots.ts';
import { decodeText } from './text.ts';

const COUNT = z.int().min(0);

const INPUT = z
  .strictObject({
    path: PATH.describe('The file to read, relative to the working folder or absolute.'),
    encoding: TEXT_ENCODING.describe('How the content is given: utf8 for text, base64 for anything else.'),
    start_line: z.int().min(1).optional().describe('The first line to read, counted from 1. For text only.'),
    line_count: COUNT.optional().describe('How many lines to read. Default: all that follow.'),
    offset: COUNT.optional().describe('The first byte to read, counted from 0. Not together with lines.'),
    length: COUNT.optional().describe('How many bytes to read. Default: all that follow.'),
  })
  .refine((input) => !hasLines(input) || (input.offset === undefined && input.length === undefined), {
    error: 'give either start_line and line_count or offset and length, not both',
  })
  .refine((input) => !hasLines(input) || input.encoding === 'utf8', {
    error: 'lines can be counted in text only: use offset and length with base64',
  });

type ReadFileInput = z.infer<typeof INPUT>;

interface ReadFileResult {
  readonly path: string;
  readonly content: string;
  readonly encoding: 'utf8' | 'base64';
  /** Where in the file the content begins. */
  readonly offset: number;
  /** How many bytes of the file the content stands for. */
  readonly bytes: number;
  readonly total_bytes: number;
  /** Whether the limit on bytes cut off a part of what was asked for. */
  readonly truncated: boolean;
  /** Where to go on, if the file has more. */
  readonly next_offset?: number;
  readonly start_line?: number;
  /** How many lines the content has, the last of which may be a part of one. */
  readonly line_count?: number;
}

/** Reads a file or a part of it. */
export function readFileTool(
  environment: ToolEnvironment,
  roots = new Roots(environment.roots, undefined, environment.protection),
): Tool<ReadFileInput, ReadFileResult> {
  const { maxBytes } = environment.files;
  return defineTool<ReadFileInput, ReadFileResult>({
    name: 'read_file',
    description: `Reads a file, or the lines or bytes of it that are asked for: at most ${maxBytes} bytes at once. next_offset says where to go on.`,
    input: INPUT,
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
