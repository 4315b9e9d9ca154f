import { type FileHandle, lstat, mkdir, truncate, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, posix } from 'node:path';
import { VolleyError } from '../core/errors.ts';
import { show } from '../core/numbers.ts';
import { Folder } from '../tools/builtin/folder.ts';
import { codeOf } from '../tools/builtin/refusal.ts';
import { openRegular } from '../tools/builtin/regular-file.ts';
import { replaceFile } from '../tools/builtin/replace-file.ts';
import { Roots } from '../tools/builtin/roots.ts';
import { FolderWalk, MAX_DEPTH, pathMatcher } from '../tools/builtin/walk.ts';
import { cacheProblem, filesProblem } from '../tools/cache-inputs.ts';
import type { FileUse, FolderInput, Tool } from '../tools/tool.ts';
import { MAX_ARTIFACT_BYTES } from './artifact-store.ts';

/**
 * The files of a call on their way to a worker that does not share the folder, and back. They travel as one pack: a
 * list of paths, and the contents one after another. Paths are relative to the first root here and to a private folder
 * there. Neither side follows a path or a symbolic link out of its folder, and the coordinator takes back only what the
 * call has declared.
 */

const MAX_FILES = 10_000;
const MAX_PATH_LENGTH = 4096;
const MAX_HEADER_BYTES = 16 * 2 ** 20;
const LENGTH_BYTES = 4;

/** `program`: a file that can be executed. `outline`: a file of which only name and size are sent. */
const KINDS = ['file', 'program', 'folder', 'outline'] as const;

interface PackedEntry {
  readonly path: string;
  readonly kind: (typeof KINDS)[number];
  readonly size: number;
}

/** Whether a tool can run with its files in another folder. */
function canSendFiles({ cache, files, isolation }: Tool): boolean {
  return files !== undefined || (cache !== undefined && isolation === 'process');
}

/** The files of a call, if they are known and can be sent: all paths are relative and lead nowhere else. */
export function sendableFiles(tool: Tool, input: unknown): FileUse | undefined {
  const use = declaredFiles(tool, input);
  if (use === undefined) return undefined;
  const { inputs: { files = [], folders = [] } = {}, outputs = [] } = use;
  const paths = [...files, ...folders.map(({ path }) => path), ...outputs];
  return paths.every((path) => innerPath(path) !== undefined) ? use : undefined;
}

function declaredFiles(tool: Tool, input: unknown): FileUse | undefined {
  const { files, cache } = tool;
  if (!canSendFiles(tool)) return undefined;
  try {
    if (files !== undefined) {
      const use = typeof files === 'function' ? files(input) : files;
      return use === undefined || filesProblem(use) !== undefined ? undefined : use;
    }
    const inputs = typeof cache === 'function' ? cache(input) : cache;
    return inputs === undefined || cacheProblem(inputs) !== undefined ? undefined : { inputs };
  } catch {
    // The tool's own function failed. The call runs where it needs no answer.
    return undefined;
  }
}

/** The normalized form of a relative path that stays inside its folder; undefined for any other. */
function innerPath(path: unknown): string | undefined {
  if (typeof path !== 'string' || path === '' || path.length > MAX_PATH_LENGTH) return undefined;
  if (isAbsolute(path) || path.includes('\0')) return undefined;
  const normal = posix.normalize(path).replace(/\/$/, '');
  return normal === '..' || normal.startsWith('../') ? undefined : normal;
}

function requireInner(path: string): string {
  const inner = innerPath(path);
  if (inner === undefined) throw refused(`the path ${show(path)} leads out of the folder`);
  return inner;
}

/** Packs what a call reads. What does not exist is left out, so that it does not exist there either. */
export async function packInputs(
  roots: Roots,
  { files = [], folders = [] }: NonNullable<FileUse['inputs']>,
  signal: AbortSignal,
): Promise<Buffer> {
  const pack = new Packer(roots, signal);
  for (const path of files) await pack.addFileOrFolder(path);
  for (const folder of folders) await pack.addFolder(folder);
  return pack.bytes();
}

/** Packs what a call has written into its private folder. What it did not write is left out. */
export async function packOutputs(
  folder: string,
  outputs: readonly string[],
  signal: AbortSignal,
): Promise<Buffer> {
  const pack = new Packer(new Roots([folder]), signal);
  for (const path of outputs) await pack.addFileOrFolder(requireInner(path));
  return pack.bytes();
}

/**
 * Writes the inputs of a call into a new, empty folder that only this user can enter, and makes the folders of its
 * outputs.
 */
export async function unpackInputs(folder: string, bytes: Buffer, outputs: readonly string[]): Promise<void> {
  for (const { path, kind, size, content } of unpacked(bytes)) {
    const place = join(folder, path);
    await mkdir(kind === 'folder' ? place : dirname(place), { recursive: true, mode: 0o700 });
    if (kind === 'folder') continue;
    const mode = kind === 'program' ? 0o700 : 0o600;
    // A new file: nothing that is there, such as another entry of the same path, is replaced or followed.
    await writeFile(place, content, { flag: 'wx', mode });
    if (kind === 'outline') await truncate(place, size);
  }
  for (const path of outputs)
    await mkdir(join(folder, dirname(requireInner(path))), { recursive: true, mode: 0o700 });
}

/** Puts the outputs of a call in place. Nothing is written if one of them was not declared. */
export async function unpackOutputs(
  roots: Roots,
  outputs: readonly string[],
  bytes: Buffer,
  signal: AbortSignal,
): Promise<void> {
  const declared = outputs.flatMap((path) => innerPath(path) ?? []);
  const entries = unpacked(bytes);
  for (const { path, kind } of entries) {
    const isDeclared = declared.some((one) => one === '.' || path === one || path.startsWith(`${one}/`));
    if (!isDeclared || kind === 'outline')
      throw refused(`the worker sent ${show(path)}, which the call does not declare`);
  }
  for (const { path, kind, content } of entries) {
    if (kind === 'folder') continue;
    const options = { createDirectories: true, isProgram: kind === 'program', signal };
    await replaceFile(roots, path, options, (handle) => handle.writeFile(content));
  }
}

/** Gathers files of a folder. All are opened inside the roots, as the file tools do it. */
class Packer {
  private readonly entries = new Map<string, PackedEntry & { readonly content: Buffer }>();
  private total = 0;

  constructor(
    private readonly roots: Roots,
    private readonly signal: AbortSignal,
  ) {}

  async addFile(path: string, kind: 'file' | 'outline' = 'file'): Promise<void> {
    this.signal.throwIfAborted();
    const real = await existing(this.roots.realPlace(path));
    const file = real === undefined ? undefined : await existing(openRegular(this.roots, real, path));
    if (file === undefined) return;
    try {
      const { size, mode } = file.stats;
      if (kind === 'outline') this.add(path, kind, Buffer.alloc(0), size);
      else {
        this.reserve(size);
        const content = await readStart(file.handle, size);
        this.add(path, (mode & 0o100) === 0 ? kind : 'program', content);
      }
    } finally {
      await file.handle.close();
    }
  }

  async addFileOrFolder(path: string): Promise<void> {
    const real = await existing(this.roots.realPlace(path));
    const stats = real === undefined ? undefined : await existing(lstat(real));
    if (stats?.isDirectory()) await this.addFolder({ path });
    else await this.addFile(path);
  }

  async addFolder({
    path,
    glob,
    depth = MAX_DEPTH,
    skip = [],
    reads = 'contents',
  }: FolderInput): Promise<void> {
    const folder = await existing(Folder.open(this.roots, path));
    if (folder === undefined) return;
    this.add(path, 'folder', Buffer.alloc(0));
    const matches = glob === undefined ? () => true : pathMatcher(glob);
    const walk = new FolderWalk(Math.min(depth, MAX_DEPTH), (name) => !skip.includes(name), this.signal);
    try {
      for await (const { path: below, name, type } of walk.through(folder)) {
        const whole = join(path, below);
        if (type === 'directory') this.add(whole, 'folder', Buffer.alloc(0));
        // Symbolic links are not followed, and not sent.
        else if (type === 'file' && matches(below, name))
          await this.addFile(whole, reads === 'contents' ? 'file' : 'outline');
      }
    } finally {
      await folder.close();
    }
    if (walk.isCut || walk.unreadable > 0)
      throw refused(`the folder ${show(path)} is too large, or a part of it cannot be read`);
  }

  bytes(): Buffer {
    const entries = [...this.entries.values()];
    const header = Buffer.from(
      JSON.stringify(entries.map(({ path, kind, size }): PackedEntry => ({ path, kind, size }))),
    );
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32BE(header.length);
    return Buffer.concat([length, header, ...entries.map(({ content }) => content)]);
  }

  private add(path: string, kind: PackedEntry['kind'], content: Buffer, size = content.length): void {
    const inner = requireInner(path);
    // The folder itself is there anyway. What was added with its content stays.
    if (inner === '.' || this.entries.get(inner)?.content.length) return;
    this.entries.set(inner, { path: inner, kind, size, content });
    if (this.entries.size > MAX_FILES) throw refused(`there are more than ${MAX_FILES} files`);
  }

  /** Before a file is read, so that no more than the limit is ever in memory. */
  private reserve(bytes: number): void {
    this.total += bytes;
    if (this.total > MAX_ARTIFACT_BYTES)
      throw refused(`together they have more than ${MAX_ARTIFACT_BYTES} bytes`);
  }
}

/** The entries of a pack that another machine has sent. Throws if anything about it is wrong. */
function unpacked(bytes: Buffer): (PackedEntry & { readonly content: Buffer })[] {
  const damaged = refused('what was received is no pack of files');
  if (bytes.length < LENGTH_BYTES) throw damaged;
  const headerBytes = bytes.readUInt32BE();
  let at = LENGTH_BYTES + headerBytes;
  if (headerBytes > MAX_HEADER_BYTES || at > bytes.length) throw damaged;
  let listed: unknown;
  try {
    listed = JSON.parse(bytes.toString('utf8', LENGTH_BYTES, at));
  } catch {
    throw damaged;
  }
  if (!Array.isArray(listed) || listed.length > MAX_FILES) throw damaged;
  const entries = listed.map((one: unknown) => {
    const { path, kind, size } = Object(one) as Partial<PackedEntry>;
    const inner = innerPath(path);
    if (inner === undefined || inner === '.' || inner !== path) throw damaged;
    if (!KINDS.includes(kind!) || !Number.isSafeInteger(size) || size! < 0) throw damaged;
    const length = kind === 'file' || kind === 'program' ? size! : 0;
    const content = bytes.subarray(at, at + length);
    at += length;
    return { path: inner, kind: kind!, size: size!, content };
  });
  if (at !== bytes.length) throw damaged;
  return entries;
}

async function readStart(handle: FileHandle, size: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(size);
  let filled = 0;
  while (filled < size) {
    const { bytesRead } = await handle.read(buffer, filled, size - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/** Undefined for what does not exist. */
async function existing<T>(looking: Promise<T>): Promise<T | undefined> {
  try {
    return await looking;
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

function refused(why: string): VolleyError {
  return new VolleyError('CLUSTER_FILES_REFUSED', `The files of the call cannot be sent: ${why}.`);
}
