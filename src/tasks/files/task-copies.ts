import { createHash } from 'node:crypto';
import { readdirSync, realpathSync } from 'node:fs';
import { mkdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { userFolder } from '../../config/user-folder.ts';
import { codeOf } from '../../tools/builtin/refusal.ts';
import { type FeatureTexts, readTexts } from './parse-feature.ts';

/**
 * Copies of a project's task files, kept in the user's own folder during a run. Volley writes each change to the copies
 * first, so any difference was written by someone else.
 */
export class TaskCopies {
  private constructor(private readonly folder: string) {}

  /** The copies of all current runs of a project. */
  static of(project: string): TaskCopies[] {
    const folder = copiesFolder(project);
    return namesIn(folder).map((name) => new TaskCopies(join(folder, name)));
  }

  /** Starts the copies for a run. A feature has one run at a time, so existing copies are left over from a crash. */
  static async make(project: string, feature: string): Promise<TaskCopies> {
    const folder = join(copiesFolder(project), feature);
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return new TaskCopies(folder);
  }

  /** The copied features. */
  names(): string[] {
    return namesIn(this.folder);
  }

  texts(feature: string): Promise<FeatureTexts> {
    return textsOrNone(join(this.folder, feature));
  }

  async write(feature: string, file: string, text: string): Promise<void> {
    await mkdir(join(this.folder, feature), { recursive: true });
    await writeFile(join(this.folder, feature, file), text);
  }

  async remove(feature: string): Promise<void> {
    await rm(join(this.folder, feature), { recursive: true, force: true });
  }

  async close(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
    // Fails while other runs of the project have copies there.
    await rmdir(dirname(this.folder)).catch(() => undefined);
  }
}

/** The files that differ from their copies: changed, added or removed. */
export function differingFiles(copied: FeatureTexts, found: FeatureTexts): string[] {
  const textOf = (texts: FeatureTexts, file: string) => {
    const text = texts.get(file);
    return typeof text === 'string' ? text : undefined;
  };
  const files = new Set([...copied.keys(), ...found.keys()]);
  const differs = (file: string) =>
    copied.has(file) !== found.has(file) || textOf(copied, file) !== textOf(found, file);
  return [...files].filter(differs).sort();
}

export async function textsOrNone(folder: string): Promise<FeatureTexts> {
  try {
    return await readTexts(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return new Map();
    throw error;
  }
}

function copiesFolder(project: string): string {
  const path = createHash('sha256').update(realpathSync(project)).digest('hex').slice(0, 32);
  return join(userFolder(), 'runs', path);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
