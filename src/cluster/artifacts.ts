import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { VolleyError } from '../core/errors.ts';

/** Larger arguments and results do not go through the queue. */
const MAX_INLINE_BYTES = 65_536;
/** Larger ones are not shipped at all. */
const MAX_ARTIFACT_BYTES = 64 * 2 ** 20;

/** Text that travels inside a message, or as a file in a folder that both sides see. */
export type Shipped = { readonly text: string } | { readonly artifact: string };

const NAME = /^[0-9a-f]{64}\.[0-9a-f]{16}$/;

/** A folder for what is too large for the queue. A name starts with the hash of its content and is read once. */
export class Artifacts {
  constructor(private readonly folder: string | undefined) {}

  async ship(text: string): Promise<Shipped> {
    const bytes = Buffer.byteLength(text);
    if (bytes <= MAX_INLINE_BYTES) return { text };
    if (this.folder === undefined || bytes > MAX_ARTIFACT_BYTES) throw tooLarge(bytes, this.folder);
    const artifact = `${hashOf(text)}.${randomBytes(8).toString('hex')}`;
    const path = join(this.folder, artifact);
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    await writeFile(`${path}.tmp`, text, { mode: 0o600, flush: true });
    await rename(`${path}.tmp`, path);
    return { artifact };
  }

  /** Returns the text. Throws if the file is missing or not what was shipped. */
  async receive(shipped: Shipped): Promise<string> {
    if ('text' in shipped) return shipped.text;
    const { artifact } = shipped;
    // It comes from another machine: it must not name a file elsewhere.
    if (typeof artifact !== 'string' || !NAME.test(artifact) || this.folder === undefined)
      throw missing(String(artifact));
    const text = await readFile(join(this.folder, artifact), 'utf8').catch(() => undefined);
    if (text === undefined || hashOf(text) !== artifact.slice(0, 64)) throw missing(artifact);
    return text;
  }

  /** Removes a file that is no longer needed. */
  async drop(shipped: Shipped): Promise<void> {
    if (!('artifact' in shipped) || this.folder === undefined || !NAME.test(shipped.artifact)) return;
    await rm(join(this.folder, shipped.artifact), { force: true }).catch(() => {});
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function tooLarge(bytes: number, folder: string | undefined): VolleyError {
  const limit = folder === undefined ? MAX_INLINE_BYTES : MAX_ARTIFACT_BYTES;
  const remedy =
    folder === undefined
      ? 'Set cluster.artifacts to a folder that coordinator and workers share'
      : 'Write it to a file instead';
  return new VolleyError(
    'CLUSTER_VALUE_TOO_LARGE',
    `The value has ${bytes} bytes, but at most ${limit} can be sent between machines. ${remedy}.`,
    { bytes, limit },
  );
}

function missing(artifact: string): VolleyError {
  return new VolleyError(
    'CLUSTER_ARTIFACT_MISSING',
    `The artifact ${artifact} is not in cluster.artifacts, or its content is different. Check that coordinator and workers share that folder.`,
    { artifact },
  );
}
