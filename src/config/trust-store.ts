import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { VolleyError } from '../core/errors.ts';
import { writeAtomically } from './atomic-write.ts';
import { userFolder } from './user-folder.ts';

/** Stands for the hash of a missing file, so that its later appearance counts as a change. */
export const MISSING = 'missing';

/** A user's approval of a folder: the files it could run and their hashes. */
export interface Approval {
  /** The real path of the folder. */
  readonly workspace: string;
  /** The hash of all files with their names. */
  readonly hash: string;
  /** The hash of each file by its name in the folder, to find which one changed. */
  readonly files: Readonly<Record<string, string>>;
  readonly approvedAt: string;
}

/** A user's approval of a feature's verification commands. */
export interface FeatureApproval {
  readonly workspace: string;
  readonly feature: string;
  readonly hash: string;
  readonly approvedAt: string;
}

/** Approvals are small. A larger file is not ours. */
const MAX_BYTES = 4_194_304;

/**
 * A user's approvals, in the user's own folder. Each is a separate file that is replaced atomically, so any number of
 * processes can approve at once without a lock. A file that other users can write is rejected.
 */
export class TrustStore {
  private readonly home: string;
  private readonly folder: string;

  constructor(env?: Readonly<Record<string, string | undefined>>) {
    this.home = userFolder(env);
    this.folder = join(this.home, 'trust');
  }

  /** The approval of a folder, if any. */
  approval(workspace: string): Approval | undefined {
    return this.read(fileName(realPath(workspace))) as Approval | undefined;
  }

  approve(workspace: string, { hash, files }: Pick<Approval, 'hash' | 'files'>): void {
    const path = realPath(workspace);
    this.write(fileName(path), { workspace: path, hash, files, approvedAt: new Date().toISOString() });
  }

  /** The hash that was approved for a feature of a folder. The caller decides what the hash covers. */
  featureHash(workspace: string, feature: string): string | undefined {
    return this.read(fileName(realPath(workspace), feature))?.hash;
  }

  approveFeature(workspace: string, feature: string, hash: string): void {
    const path = realPath(workspace);
    this.write(fileName(path, feature), {
      workspace: path,
      feature,
      hash,
      approvedAt: new Date().toISOString(),
    });
  }

  /** Revokes all approvals of a folder, even one that is gone. Returns whether there were any. */
  revoke(workspace: string): boolean {
    const path = realPath(workspace);
    // Also by file name, so that a broken approval is removed too.
    const own = this.records().filter(
      ({ file, record }) => file === fileName(path) || record?.workspace === path,
    );
    for (const { file } of own) rmSync(join(this.folder, file), { force: true });
    return own.length > 0;
  }

  /** All approvals, by path. */
  list(): (Approval | FeatureApproval)[] {
    return this.records()
      .map(({ record }) => record)
      .filter((record) => record !== undefined)
      .sort((a, b) => (a.workspace < b.workspace ? -1 : 1));
  }

  private records(): { file: string; record: Approval | FeatureApproval | undefined }[] {
    return namesIn(this.folder).map((file) => {
      try {
        return { file, record: this.read(file) };
      } catch {
        // Skipped here. The command that needs this approval reports the problem.
        return { file, record: undefined };
      }
    });
  }

  private read(name: string): Approval | FeatureApproval | undefined {
    const file = join(this.folder, name);
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats === undefined) return undefined;
    for (const path of [this.home, this.folder, file]) requireOwn(path);
    if (!stats.isFile() || stats.size > MAX_BYTES) throw broken(file);
    let record: unknown;
    try {
      record = JSON.parse(readFileSync(file, 'utf8'));
    } catch (error) {
      throw broken(file, error);
    }
    if (!isRecord(record) || fileName(record.workspace, (record as FeatureApproval).feature) !== name)
      throw broken(file);
    return record;
  }

  private write(name: string, record: Approval | FeatureApproval): void {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    for (const path of [this.home, this.folder]) requireOwn(path);
    const text = `${JSON.stringify(record, undefined, 2)}\n`;
    writeAtomically(join(this.folder, name), text, { mode: 0o600 });
  }
}

/** A file name for each approval, whatever characters its path has. */
function fileName(path: string, feature?: string): string {
  const id = createHash('sha256')
    .update(JSON.stringify([path, feature]))
    .digest('hex');
  return `${id.slice(0, 32)}.json`;
}

function realPath(folder: string): string {
  try {
    return realpathSync.native(folder);
  } catch {
    return folder;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.json'));
  } catch {
    return [];
  }
}

function isRecord(value: unknown): value is Approval | FeatureApproval {
  if (typeof value !== 'object' || value === null) return false;
  const { workspace, hash, approvedAt, feature, files } = value as Record<string, unknown>;
  const isOfOneKind =
    feature === undefined ? typeof files === 'object' && files !== null : typeof feature === 'string';
  return [workspace, hash, approvedAt].every((text) => typeof text === 'string') && isOfOneKind;
}

function requireOwn(path: string): void {
  const user = process.getuid?.();
  // Windows has no such owners.
  if (user === undefined) return;
  const { uid, mode } = statSync(path);
  if (uid === user && (mode & 0o022) === 0) return;
  const what =
    uid === user ? 'other users can write to it' : `it belongs to another user (${uid}; you are ${user})`;
  const fix = uid === user ? `Run: chmod go-w ${path}` : 'Remove it, then approve again with: volley trust';
  throw new VolleyError('TRUST_UNREADABLE', `${path} cannot be trusted: ${what}. ${fix}`, { file: path });
}

function broken(file: string, cause?: unknown): VolleyError {
  const message = `${file} is not a valid approval. Delete it, then approve again with: volley trust`;
  return new VolleyError('TRUST_UNREADABLE', message, { file }, { cause });
}
