import { createHash, randomBytes } from 'node:crypto';
import { lstat, mkdir, opendir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { readRegularBytes } from '../config/regular-file.ts';
import { VolleyError } from '../core/errors.ts';

/** What is larger does not go through the queue. */
const MAX_INLINE_BYTES = 65_536;
/** What is larger does not go through the Redis server, whose memory all calls share. */
const MAX_SERVER_BYTES = 4 * 2 ** 20;
/** What is larger is not shipped at all. */
export const MAX_ARTIFACT_BYTES = 64 * 2 ** 20;
/** What nobody has fetched by then was left behind by a crash. */
const KEPT_MS = 3_600_000;
const KEPT_IN_FOLDER_MS = 24 * KEPT_MS;

/** Bytes that travel inside a message, as text if they are that; as a file in a folder that both sides see; or on the server. */
export type Shipped =
  | { readonly text: string }
  | { readonly base64: string }
  | { readonly artifact: string; readonly isOnServer?: true };

/** Keeps artifacts on the Redis server of the cluster. */
export interface ArtifactServer {
  put(name: string, bytes: Buffer, keptMs: number): Promise<void>;
  get(name: string): Promise<Buffer | null>;
  remove(name: string): Promise<void>;
}

/** Others may write to the folder, too. */
const LIMITS = { maxBytes: MAX_ARTIFACT_BYTES, followLinks: false } as const;
const NAME = /^[0-9a-f]{64}\.[0-9a-f]{16}$/;
const DRAFT = '.tmp';

/** What is too large for the queue. It is read once. */
export class Artifacts {
  constructor(
    private readonly folder: string | undefined,
    private readonly server: () => Promise<ArtifactServer>,
  ) {}

  async ship(content: string | Buffer): Promise<Shipped> {
    const bytes = Buffer.byteLength(content);
    if (bytes <= MAX_INLINE_BYTES)
      return typeof content === 'string' ? { text: content } : { base64: content.toString('base64') };
    const limit = this.folder === undefined ? MAX_SERVER_BYTES : MAX_ARTIFACT_BYTES;
    if (bytes > limit) throw tooLarge(bytes, limit, this.folder);
    const artifact = nameOf(content);
    if (this.folder === undefined) {
      await (await this.server()).put(artifact, Buffer.from(content as string), KEPT_MS);
      return { artifact, isOnServer: true };
    }
    const path = join(this.folder, artifact);
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    await writeFile(path + DRAFT, content, { mode: 0o600, flush: true });
    await rename(path + DRAFT, path);
    return { artifact };
  }

  /** Returns the bytes. Throws if they are missing or not what was shipped. */
  async receive(shipped: Shipped): Promise<Buffer> {
    if ('text' in shipped) return Buffer.from(shipped.text);
    if ('base64' in shipped) return Buffer.from(shipped.base64, 'base64');
    const { artifact, isOnServer } = shipped;
    // It comes from another machine: it must not name a file elsewhere.
    if (typeof artifact !== 'string' || !NAME.test(artifact)) throw missing(String(artifact));
    const bytes = isOnServer
      ? await (await this.server()).get(artifact)
      : this.folder && (await readRegularBytes(join(this.folder, artifact), LIMITS).catch(() => undefined));
    if (!bytes || hashOf(bytes) !== artifact.slice(0, 64)) throw missing(artifact);
    return bytes;
  }

  async receiveText(shipped: Shipped): Promise<string> {
    return 'text' in shipped ? shipped.text : (await this.receive(shipped)).toString('utf8');
  }

  /** Removes what is no longer needed. */
  async drop(shipped: Shipped | undefined): Promise<void> {
    if (shipped === undefined || !('artifact' in shipped) || !NAME.test(shipped.artifact)) return;
    const { artifact, isOnServer } = shipped;
    const removing = isOnServer
      ? this.server().then((server) => server.remove(artifact))
      : this.folder && rm(join(this.folder, artifact), { force: true });
    // The server forgets it by itself, and the folder is swept.
    await Promise.resolve(removing).catch(() => {});
  }

  /** Removes what crashes have left in the folder. The server forgets by itself. */
  async sweep(): Promise<void> {
    const { folder } = this;
    if (folder === undefined) return;
    // By the clock of the folder, which may be on another machine.
    const probe = join(folder, nameOf('') + DRAFT);
    await writeFile(probe, '', { mode: 0o600 });
    const { mtimeMs: now } = await lstat(probe);
    await rm(probe);
    for await (const { name } of await opendir(folder)) {
      if (!NAME.test(basename(name, DRAFT))) continue;
      const path = join(folder, name);
      const found = await lstat(path);
      if (!found.isDirectory() && found.mtimeMs < now - KEPT_IN_FOLDER_MS) await rm(path, { force: true });
    }
  }
}

/** Starts with the hash of the content. */
function nameOf(content: string | Buffer): string {
  return `${hashOf(content)}.${randomBytes(8).toString('hex')}`;
}

function hashOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

function tooLarge(bytes: number, limit: number, folder: string | undefined): VolleyError {
  const remedy =
    folder === undefined
      ? 'Set cluster.artifacts to a folder that coordinator and workers share'
      : 'Send less';
  return new VolleyError(
    'CLUSTER_VALUE_TOO_LARGE',
    `There are ${bytes} bytes to send to another machine, but the limit is ${limit}. ${remedy}.`,
    { bytes, limit },
  );
}

function missing(artifact: string): VolleyError {
  return new VolleyError(
    'CLUSTER_ARTIFACT_MISSING',
    `The artifact ${artifact} is not there, or its content is different. Check that coordinator and workers have the same cluster.artifacts.`,
    { artifact },
  );
}
