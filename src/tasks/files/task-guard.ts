import { readdirSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { Coalesced } from './coalesced.ts';
import type { Feature } from './feature.ts';
import { FeatureParser, type FeatureTexts, isTaskFile, readTaskFile } from './parse-feature.ts';
import type { TaskCopies } from './task-copies.ts';

/** A file as it was when its content was compared. */
interface Stamp {
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly ino: number;
  /** Changed so recently that a later change may have the same time. */
  readonly isFresh: boolean;
}

/** A file whose content is not what Volley wrote. */
interface DifferingFile {
  readonly feature: string;
  readonly file: string;
  /** What Volley wrote; undefined if the file should not exist. */
  readonly text: string | undefined;
}

/** The resolution of file times; some file systems store whole seconds only. */
const TICK_MS = 50;
const COARSE_TICK_MS = 2000;
/** How long the event loop may be blocked at a time. */
const SLICE_MS = 10;
/** Scans that take longer than this are followed by a pause of this many times their duration. */
const SHORT_SCAN_MS = 1;
const PAUSE_FACTOR = 4;

/**
 * What Volley wrote to the task files of a project, kept in memory during a run. It follows the changes of other Volley
 * processes through the journal of the copies, so reading does not depend on the number of files, and nobody else can
 * make the run believe something.
 */
export class TaskGuard {
  private readonly texts = new Map<string, Map<string, string | Error>>();
  private readonly parsers = new Map<string, FeatureParser>();
  private readonly stamps = new Map<string, Stamp>();
  private journalAt = 0;
  private readonly comparison = new Coalesced(() => this.compare());
  private restUntil = 0;

  constructor(
    /** The folder of all features. */
    private readonly path: string,
    private readonly copies: TaskCopies,
  ) {}

  /** Starts to guard the files of a feature. */
  async add(feature: string, texts: FeatureTexts): Promise<void> {
    this.texts.set(feature, new Map(texts));
    for (const [file, text] of texts)
      if (typeof text === 'string') await this.copies.write(feature, file, text);
  }

  /** The texts of a feature as Volley wrote them; undefined if it is not guarded. */
  async textsOf(feature: string): Promise<FeatureTexts | undefined> {
    await this.sync();
    return this.texts.get(feature);
  }

  /** Parses only what changed since the last time. */
  parse(feature: string, texts: FeatureTexts): Feature {
    let parser = this.parsers.get(feature);
    if (parser === undefined) {
      parser = new FeatureParser(feature);
      this.parsers.set(feature, parser);
    }
    return parser.parse(texts);
  }

  /** The files that someone else changed, added or removed. Callers that come while files are compared share the next result. */
  differing(): Promise<readonly DifferingFile[]> {
    return this.comparison.request();
  }

  /** Compares one file. */
  async differs(feature: string, file: string): Promise<DifferingFile | undefined> {
    const text = this.texts.get(feature)?.get(file);
    if (text instanceof Error) return undefined;
    return (await this.isSame(join(feature, file), text)) ? undefined : { feature, file, text };
  }

  async close(): Promise<void> {
    await this.copies.close();
  }

  /** Takes over what other processes wrote. */
  private async sync(): Promise<void> {
    const { entries, end } = await this.copies.journal(this.journalAt);
    this.journalAt = end;
    for (const { feature, file } of entries) {
      if (file === undefined) {
        this.texts.delete(feature);
        continue;
      }
      const text = await this.copies.read(feature, file);
      if (text === undefined) continue;
      const texts = this.texts.get(feature) ?? new Map<string, string | Error>();
      this.texts.set(feature, texts.set(file, text));
      this.stamps.delete(join(feature, file));
    }
  }

  /** Looks at every file. The pause afterwards keeps this a small part of the work, however many files there are. */
  private async compare(): Promise<DifferingFile[]> {
    const restMs = this.restUntil - performance.now();
    if (restMs > 0) await sleep(restMs);
    await this.sync();
    const found: DifferingFile[] = [];
    let spentMs = 0;
    let since = performance.now();
    for (const [feature, texts] of this.texts) {
      const files = new Set([...texts.keys(), ...this.filesOf(feature)]);
      for (const file of files) {
        const one = this.isUnchanged(join(feature, file)) ? undefined : await this.differs(feature, file);
        if (one !== undefined) found.push(one);
        const now = performance.now();
        if (now - since < SLICE_MS) continue;
        spentMs += now - since;
        await turn();
        since = performance.now();
      }
    }
    spentMs += performance.now() - since;
    this.restUntil = spentMs < SHORT_SCAN_MS ? 0 : performance.now() + PAUSE_FACTOR * spentMs;
    return found;
  }

  private filesOf(feature: string): string[] {
    try {
      return readdirSync(join(this.path, feature)).filter(isTaskFile);
    } catch {
      return [];
    }
  }

  private isUnchanged(path: string): boolean {
    const stamp = this.stamps.get(path);
    if (stamp === undefined || stamp.isFresh) return false;
    const stats = statSync(join(this.path, path), { throwIfNoEntry: false });
    return (
      stats !== undefined &&
      stats.size === stamp.size &&
      stats.mtimeMs === stamp.mtimeMs &&
      stats.ctimeMs === stamp.ctimeMs &&
      stats.ino === stamp.ino
    );
  }

  private async isSame(path: string, text: string | undefined): Promise<boolean> {
    // Before it is read: a later change gives other times.
    const stats = statSync(join(this.path, path), { throwIfNoEntry: false });
    const found = stats && (await readTaskFile(join(this.path, path)));
    if (
      (typeof found === 'string' ? found : undefined) !== text ||
      (text === undefined && stats !== undefined)
    )
      return false;
    if (stats !== undefined) this.stamps.set(path, stampOf(stats));
    return true;
  }
}

function stampOf({ size, mtimeMs, ctimeMs, ino }: Stats): Stamp {
  const newest = Math.max(mtimeMs, ctimeMs);
  const isFresh = newest > Date.now() - (newest % 1000 === 0 ? COARSE_TICK_MS : TICK_MS);
  return { size, mtimeMs, ctimeMs, ino, isFresh };
}
