import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { lstat, realpath, rename, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { z } from 'zod';
import { defineTool } from '../define-tool.ts';
import type { Tool } from '../tool.ts';
import type { ToolEnvironment } from './environment.ts';
import { Folder } from './folder.ts';
import { PATH, TEXT_ENCODING } from './inputs.ts';
import { memoryForMb } from './needs.ts';
import { codeOf, fileFailure } from './refusal.ts';
import { requireRegular } from './regular-file.ts';
import { notAllowed, Roots } from './roots.ts';

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

function inputWithin(maxBytes: number) {
  return z
    .strictObject({
      path: PATH.describe('The file to write, relative to the working folder or absolute.'),
      content: z.string().describe(`All that the file shall hold, at most ${maxBytes} bytes.`),
      encoding: TEXT_ENCODING.describe('What content is: utf8 for text, base64 for anything else.'),
      create_directories: z.boolean().default(false).describe('Whether missing folders are made.'),
    })
    .refine(({ content, encoding }) => Buffer.byteLength(content, encoding) <= maxBytes, {
      path: ['content'],
      error: `must be at most ${maxBytes} bytes`,
    })
    .refine(({ content, encoding }) => encoding === 'utf8' || isBase64(content), {
      path: ['content'],
      error: 'must be base64, as encoding says',
    });
}

type WriteFileInput = z.infer<ReturnType<typeof inputWithin>>;

interface WriteFileResult {
  readonly path: string;
  readonly bytes: number;
  /** Whether there was no such file before. */
  readonly created: boolean;
}

/** Writes a file as a whole: whoever reads it sees the old content or the new, never a part. */
export function writeFileTool(
  environment: ToolEnvironment,
  roots = new Roots(environment.roots),
): Tool<WriteFileInput, WriteFileResult> {
  const { maxBytes } = environment.files;
  return defineTool<WriteFileInput, WriteFileResult>({
    name: 'write_file',
    description: 'Writes a file, replacing all that it held. The file is replaced at once or not at all.',
    input: inputWithin(maxBytes),
    idempotent: true,
    resources: ({ path, content }) => ({
      cpu: 0.1,
      memoryMb: memoryForMb(content.length),
      io: 'medium',
      exclusive: [roots.lockName(path)],
    }),
    run: async (input, { signal }) => {
      try {
        return await write(input, roots, signal);
      } catch (error) {
        throw fileFailure('write', input.path, error);
      }
    },
  });
}

async function write(input: WriteFileInput, roots: Roots, signal: AbortSignal): Promise<WriteFileResult> {
  const { path, content, encoding } = input;
  const bytes = Buffer.from(content, encoding);
  const target = await targetOf(roots, path);
  signal.throwIfAborted();
  const folder = input.create_directories
    ? await Folder.make(roots, dirname(target), path)
    : await Folder.openReal(roots, await realpath(dirname(target)), path);
  try {
    const name = basename(target);
    const existing = await lstatIfAny(folder.pathTo(name));
    if (existing !== undefined) requireRegular(existing, path);
    await replace(folder, name, bytes, existing, signal);
    return { path, bytes: bytes.length, created: existing === undefined };
  } finally {
    await folder.close();
  }
}

/** The file itself, so that a symbolic link stays one and its file gets the content. */
async function targetOf(roots: Roots, path: string): Promise<string> {
  try {
    return await roots.realPlace(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  const absolute = await roots.place(path);
  if ((await lstatIfAny(absolute))?.isSymbolicLink())
    throw notAllowed(path, 'it is a symbolic link that leads nowhere');
  return absolute;
}

async function replace(
  folder: Folder,
  name: string,
  bytes: Buffer,
  existing: Stats | undefined,
  signal: AbortSignal,
): Promise<void> {
  const temporary = temporaryName();
  let isInPlace = false;
  try {
    const handle = await folder.createFile(temporary);
    try {
      await handle.writeFile(bytes, { signal });
      if (existing !== undefined) {
        // Who may not give the file to its owner keeps it; changing the owner may clear bits of the mode.
        await handle.chown(existing.uid, existing.gid).catch(() => {});
        await handle.chmod(existing.mode & 0o7777);
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    signal.throwIfAborted();
    await rename(folder.pathTo(temporary), folder.pathTo(name));
    isInPlace = true;
  } finally {
    if (!isInPlace) await unlink(folder.pathTo(temporary)).catch(() => {});
  }
}

async function lstatIfAny(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

function temporaryName(): string {
  return `.volley-${randomBytes(8).toString('hex')}.tmp`;
}

/** Whether a file is one that is just being written: other tools do not show it. */
export function isTemporaryName(name: string): boolean {
  return /^\.volley-[\da-f]{16}\.tmp$/.test(name);
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && BASE64.test(text);
}
