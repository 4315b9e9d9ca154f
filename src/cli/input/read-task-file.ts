import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { readingProblem } from '../../config/problems.ts';
import { taskFileError } from './fault.ts';
import { parseTaskFile, type TaskFile } from './task-file.ts';

const MAX_BYTES = 64 * 1024 * 1024;
const STANDARD_INPUT = '-';

/**
 * Reads tasks from a file, or from standard input for `-`. The format is what the name ends in (.json, .jsonl, .ndjson,
 * .yaml, .yml, .toml), else what the text looks like.
 */
export async function readTaskFile(
  path: string,
  input: AsyncIterable<Uint8Array | string> = process.stdin,
  cwd = process.cwd(),
): Promise<TaskFile> {
  const isInput = path === STANDARD_INPUT;
  const name = isInput ? 'standard input' : path;
  const bytes = isInput ? await collect(name, input) : await readBytes(path, cwd);
  return parseTaskFile({ name, text: decode(name, bytes) });
}

async function readBytes(path: string, cwd: string): Promise<Uint8Array> {
  const file = await open(resolve(cwd, path)).catch((error: unknown) => {
    throw wholeFile(path, readingProblem(error), error);
  });
  try {
    // A pipe such as <(command) has no size, so that it is counted while it is read.
    return await collect(path, file.createReadStream({ autoClose: false }));
  } catch (error) {
    throw isOurs(error) ? error : wholeFile(path, readingProblem(error), error);
  } finally {
    await file.close();
  }
}

async function collect(name: string, input: AsyncIterable<Uint8Array | string>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of input) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    length += bytes.length;
    if (length > MAX_BYTES) throw wholeFile(name, 'it is larger than 64 MB: split it into several batches.');
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

function decode(name: string, bytes: Uint8Array): string {
  const isWide = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  if (isWide) throw wholeFile(name, 'it is UTF-16: save it as UTF-8.');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw wholeFile(name, 'it is not valid UTF-8: save it in that encoding.', error);
  }
}

function isOurs(error: unknown): boolean {
  return error instanceof Error && error.name === 'VolleyError';
}

function wholeFile(name: string, what: string, cause?: unknown) {
  return taskFileError({ name, text: '' }, what, undefined, cause);
}
