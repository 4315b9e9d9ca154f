import { createHash, randomBytes } from 'node:crypto';
import { lstat, mkdir, opendir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { readRegularBytes } from '../config/regular-file.ts';
import { S3_SCHEME } from '../config/s3-address.ts';
import { VolleyError } from '../core/errors.ts';
import { reasonText } from '../core/words.ts';
import type { S3Credentials } from './s3-store.ts';

/** What is larger is not shipped at all. */
export const MAX_ARTIFACT_BYTES = 64 * 2 ** 20;
/** What nobody has fetched by then was left behind by a crash. */
export const KEPT_IN_STORE_MS = 24 * 3_600_000;
export const ARTIFACT_NAME = /^[0-9a-f]{64}\.[0-9a-f]{16}$/;

/** The hash of the content, and random digits: equal contents have different names, so removing one keeps the others. */
export function newArtifactName(content: Buffer): string {
  return `${hashOf(content)}.${randomBytes(8).toString('hex')}`;
}

/** Whether the bytes are those with that name. */
export function isArtifact(name: string, bytes: Buffer): boolean {
  return name.startsWith(hashOf(bytes));
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Keeps bytes by name until they are removed. Others may write to it too, so what it returns is checked by its user. */
export interface ArtifactServer {
  put(name: string, bytes: Buffer, signal?: AbortSignal): Promise<void>;
  /** Undefined if there is nothing of that name, or it is larger than any artifact. */
  get(name: string, signal?: AbortSignal): Promise<Buffer | undefined>;
  remove(name: string): Promise<void>;
}

/** What coordinator and workers share for artifacts: `cluster.artifacts`. */
export interface ArtifactStore extends ArtifactServer {
  /** Throws if artifacts cannot be written, read and removed. */
  check(): Promise<void>;
  /** Removes what crashes have left. */
  sweep(): Promise<void>;
}

/** The store at a place, if one is named. Throws if it cannot be used. */
export async function openArtifactStore({
  artifacts,
  credentials,
}: {
  readonly artifacts: string | undefined;
  readonly credentials?: S3Credentials | undefined;
}): Promise<ArtifactStore | undefined> {
  if (artifacts === undefined) return undefined;
  const store = artifacts.startsWith(S3_SCHEME)
    ? await (await import('./s3-store.ts')).S3Store.open(artifacts, credentials)
    : new FolderStore(artifacts);
  await store.check();
  return store;
}

/** Others may write to the folder, too. */
const LIMITS = { maxBytes: MAX_ARTIFACT_BYTES, followLinks: false } as const;
const DRAFT = '.tmp';
const NOTHING = Buffer.alloc(0);

/** A folder that all machines see. */
export class FolderStore implements ArtifactStore {
  constructor(private readonly folder: string) {}

  async put(name: string, bytes: Buffer): Promise<void> {
    const path = join(this.folder, name);
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    await writeFile(path + DRAFT, bytes, { mode: 0o600, flush: true });
    await rename(path + DRAFT, path);
  }

  async get(name: string): Promise<Buffer | undefined> {
    return readRegularBytes(join(this.folder, name), LIMITS).catch(() => undefined);
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.folder, name), { force: true });
  }

  async check(): Promise<void> {
    try {
      await mkdir(this.folder, { recursive: true, mode: 0o700 });
      await this.probe();
    } catch (error) {
      throw new VolleyError(
        'CLUSTER_ARTIFACTS_REFUSED',
        `The folder of cluster.artifacts cannot be used: ${reasonText(error)}`,
        { folder: this.folder },
      );
    }
  }

  async sweep(): Promise<void> {
    // By the clock of the folder, which may be on another machine.
    const now = await this.probe();
    for await (const { name } of await opendir(this.folder)) {
      if (!ARTIFACT_NAME.test(basename(name, DRAFT))) continue;
      const path = join(this.folder, name);
      const found = await lstat(path);
      if (!found.isDirectory() && found.mtimeMs < now - KEPT_IN_STORE_MS) await rm(path, { force: true });
    }
  }

  /** Writes and removes a file. Returns when that was. */
  private async probe(): Promise<number> {
    const path = join(this.folder, newArtifactName(NOTHING) + DRAFT);
    await writeFile(path, '', { mode: 0o600 });
    const { mtimeMs } = await lstat(path);
    await rm(path, { force: true });
    return mtimeMs;
  }
}
