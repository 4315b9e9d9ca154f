import { createHash, type Hash } from 'node:crypto';
import { type BigIntStats, fstatSync, lstatSync } from 'node:fs';
import { type FileHandle, lstat, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MISSING } from '../config/trust-store.ts';
import { Folder } from '../tools/builtin/folder.ts';
import { codeOf } from '../tools/builtin/refusal.ts';
import { openRegular } from '../tools/builtin/regular-file.ts';
import type { Roots } from '../tools/builtin/roots.ts';
import { FolderWalk, MAX_DEPTH, pathMatcher } from '../tools/builtin/walk.ts';
import type { CacheInputs, FolderInput } from '../tools/tool.ts';

/** Calls that read more are not cached: hashing must stay cheap compared with the call. */
const MAX_INPUT_BYTES = 64 * 2 ** 20;
const MAX_INPUT_FILES = 10_000;
/** Hashing a chunk takes well below a millisecond, and the event loop runs between two. */
const CHUNK_BYTES = 256 * 1024;
/** Files that are hashed at once. */
const AT_ONCE = 16;
/** How many hashes are remembered. */
const MAX_KNOWN = 20_000;
/**
 * Two changes of a file within this time may have the same timestamps, so a file that changed shortly before it was read
 * is read again. Git calls such a file racily clean.
 */
const RACY_MS = 2500;

/** The clock of file systems moves on at least this often, so two changes further apart have different timestamps. */
const TICK_MS = 20;

/** The inputs of a call at one moment. */
export interface DescribedInputs {
  /** A hash of their content. */
  readonly content: string;
  /** A hash of their inodes and times. It changes even if a file is changed and changed back. */
  readonly stamp: string;
}

interface KnownFile {
  readonly signature: string;
  readonly hash: string;
  /** Whether it changed so shortly before it was read that its timestamps prove nothing. */
  readonly isRacy: boolean;
}

/** The inputs cannot be described: they are too large, or change too quickly. */
class Undescribable extends Error {}

/**
 * Describes what calls read: contents of files, entries of folders, and what is missing. Everything is opened inside the
 * roots, as the file tools do it. The hash of a file is remembered until its size, inode or timestamps change.
 */
export class InputReader {
  /** By real path; the least recently used first. */
  private readonly known = new Map<string, KnownFile>();

  constructor(private readonly roots: Roots) {}

  /** The inputs as they are now. Throws if they cannot be read, or are too large to be described. */
  async describe(inputs: CacheInputs, signal: AbortSignal): Promise<DescribedInputs> {
    const found = await this.look(inputs, signal);
    // A further change within the same tick would not show in the stamp.
    if (found.changedAt < Date.now() - TICK_MS) return found;
    await sleep(TICK_MS, undefined, { signal });
    return this.look(inputs, signal);
  }

  private async look(
    { files = [], folders = [] }: CacheInputs,
    signal: AbortSignal,
  ): Promise<DescribedInputs & { readonly changedAt: number }> {
    const hash = createHash('sha256');
    const stamps = new Stamps();
    const read = new ReadFiles();
    for (const path of files) read.add(path, this.roots.sizeOf(path));
    for (const folder of folders) await this.addFolder(hash, folder, read, stamps, signal);
    const paths = [...read.paths];
    for (let first = 0; first < paths.length; first += AT_ONCE) {
      signal.throwIfAborted();
      const some = paths.slice(first, first + AT_ONCE);
      const hashes = await Promise.all(some.map((path) => this.fileHash(path, stamps, signal)));
      hash.update(JSON.stringify([some, hashes]));
    }
    return { content: hash.digest('hex'), stamp: stamps.digest(), changedAt: stamps.changedAt };
  }

  /** The hash of a file anywhere, or `MISSING`. Only for code that Volley itself loads. */
  async codeHash(path: string, signal: AbortSignal): Promise<string> {
    const stats = await existing(stat(path, { bigint: true }));
    // It may be a folder: whatever is loaded from it has its own path.
    if (stats?.isFile() !== true) return MISSING;
    const known = this.knownHash(path, stats);
    if (known !== undefined) return known;
    const handle = await existing(open(path));
    return handle === undefined ? MISSING : this.read(path, handle, signal);
  }

  private async addFolder(
    hash: Hash,
    { path, glob, depth = MAX_DEPTH, skip = [], reads = 'contents' }: FolderInput,
    read: ReadFiles,
    stamps: Stamps,
    signal: AbortSignal,
  ): Promise<void> {
    hash.update(JSON.stringify(['folder', path, glob, depth, skip, reads]));
    const folder = await existing(Folder.open(this.roots, path));
    if (folder === undefined) {
      hash.update(MISSING);
      return;
    }
    stamps.add(path, await stat(folder.pathTo('.'), { bigint: true }));
    const matches = glob === undefined ? () => true : pathMatcher(glob);
    const walk = new FolderWalk(Math.min(depth, MAX_DEPTH), (name) => !skip.includes(name), signal);
    try {
      for await (const entry of walk.through(folder)) {
        const isMatch = matches(entry.path, entry.name);
        const isRead = isMatch && entry.type === 'file' && reads !== 'names';
        const isLooked = isRead || entry.type === 'directory';
        const place = entry.folder.pathTo(entry.name);
        const stats = isLooked ? await existing(lstat(place, { bigint: true })) : undefined;
        if (stats !== undefined) stamps.add(join(path, entry.path), stats);
        if (!isMatch) continue;
        const size = isRead ? Number(stats?.size ?? 0) : undefined;
        hash.update(JSON.stringify([entry.path, entry.type, size]));
        if (isRead && reads === 'contents') read.add(join(path, entry.path), size ?? 0);
      }
    } finally {
      await folder.close();
    }
    if (walk.isCut) throw new Undescribable();
    hash.update(JSON.stringify(walk.unreadable));
  }

  private async fileHash(path: string, stamps: Stamps, signal: AbortSignal): Promise<string> {
    const real = await existing(this.roots.realPlace(path));
    if (real === undefined) return MISSING;
    // Synchronous: its size was read just now, so the system knows the answer.
    const stats = this.known.has(real) ? lstatSync(real, { bigint: true, throwIfNoEntry: false }) : undefined;
    // The same inode, unchanged, was inside the roots when it was read.
    const known = stats && this.knownHash(real, stats);
    if (known !== undefined) {
      stamps.add(path, stats!);
      return known;
    }
    const file = await existing(openRegular(this.roots, real, path));
    return file === undefined
      ? MISSING
      : this.read(real, file.handle, signal, (read) => stamps.add(path, read));
  }

  private knownHash(path: string, stats: BigIntStats): string | undefined {
    const known = this.known.get(path);
    if (known === undefined || known.isRacy || known.signature !== signatureOf(stats)) return undefined;
    this.known.delete(path);
    this.known.set(path, known);
    return known.hash;
  }

  /** Closes the file. */
  private async read(
    path: string,
    handle: FileHandle,
    signal: AbortSignal,
    onStats?: (stats: BigIntStats) => void,
  ): Promise<string> {
    try {
      const readAt = Date.now();
      const before = fstatSync(handle.fd, { bigint: true });
      if (before.size > MAX_INPUT_BYTES) throw new Undescribable();
      const hash = await contentHash(handle, Number(before.size), signal);
      const signature = signatureOf(before);
      if (signatureOf(fstatSync(handle.fd, { bigint: true })) !== signature) throw new Undescribable();
      onStats?.(before);
      this.remember(path, { signature, hash, isRacy: changeOf(before) > readAt - RACY_MS });
      return hash;
    } finally {
      await handle.close();
    }
  }

  private remember(path: string, file: KnownFile): void {
    this.known.delete(path);
    this.known.set(path, file);
    if (this.known.size <= MAX_KNOWN) return;
    const [oldest] = this.known.keys();
    this.known.delete(oldest!);
  }
}

/** The inodes and times of inputs, in any order. */
class Stamps {
  /** When one of them changed last. */
  changedAt = 0;
  private readonly found: string[] = [];

  add(path: string, stats: BigIntStats): void {
    this.found.push(`${path}\0${signatureOf(stats)}`);
    this.changedAt = Math.max(this.changedAt, changeOf(stats));
  }

  digest(): string {
    return createHash('sha256').update(this.found.sort().join('\n')).digest('hex');
  }
}

/** The files whose content is an input. */
class ReadFiles {
  readonly paths = new Set<string>();
  private bytes = 0;

  add(path: string, bytes: number): void {
    this.paths.add(path);
    this.bytes += bytes;
    if (this.paths.size > MAX_INPUT_FILES || this.bytes > MAX_INPUT_BYTES) throw new Undescribable();
  }
}

async function contentHash(handle: FileHandle, size: number, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size));
  for (let position = 0; position < size; ) {
    signal.throwIfAborted();
    const wanted = Math.min(chunk.length, size - position);
    const { bytesRead } = await handle.read(chunk, 0, wanted, position);
    if (bytesRead === 0) break;
    hash.update(chunk.subarray(0, bytesRead));
    position += bytesRead;
  }
  return hash.digest('hex');
}

function signatureOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join();
}

function changeOf({ mtimeMs, ctimeMs }: BigIntStats): number {
  return Math.max(Number(mtimeMs), Number(ctimeMs));
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
