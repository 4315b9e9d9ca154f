import { createHash } from 'node:crypto';
import { readdirSync, realpathSync, statSync } from 'node:fs';
import { appendFile, mkdir, open, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { userFolder } from '../../config/user-folder.ts';

/** A file that Volley wrote, or without a file a feature that it moved away. */
interface JournalEntry {
  readonly feature: string;
  readonly file: string | undefined;
}

/** A file beside the copies that lists every change, so that a run need not look at all of them. */
const JOURNAL = '.journal';

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

  async write(feature: string, file: string, text: string): Promise<void> {
    await mkdir(join(this.folder, feature), { recursive: true });
    await writeFile(join(this.folder, feature, file), text);
    await this.note({ feature, file });
  }

  /** Undefined if there is no such copy. */
  async read(feature: string, file: string): Promise<string | undefined> {
    return readFile(join(this.folder, feature, file), 'utf8').catch(() => undefined);
  }

  async remove(feature: string): Promise<void> {
    await rm(join(this.folder, feature), { recursive: true, force: true });
    await this.note({ feature, file: undefined });
  }

  /** What was written since a position in the journal, and the next position. */
  async journal(from: number): Promise<{ readonly entries: readonly JournalEntry[]; readonly end: number }> {
    const path = join(this.folder, JOURNAL);
    const size = this.journalSize();
    if (size <= from) return { entries: [], end: from };
    const file = await open(path);
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
      // The last line may still be written.
      const end = buffer.lastIndexOf('\n', bytesRead - 1) + 1;
      const lines = buffer.toString('utf8', 0, end).split('\n').slice(0, -1);
      return { entries: lines.map((line) => JSON.parse(line) as JournalEntry), end: from + end };
    } finally {
      await file.close();
    }
  }

  journalSize(): number {
    return statSync(join(this.folder, JOURNAL), { throwIfNoEntry: false })?.size ?? 0;
  }

  private note(entry: JournalEntry): Promise<void> {
    return appendFile(join(this.folder, JOURNAL), `${JSON.stringify(entry)}\n`);
  }

  async close(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
    // Fails while other runs of the project have copies there.
    await rmdir(dirname(this.folder)).catch(() => undefined);
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
