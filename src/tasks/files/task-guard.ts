import { type FSWatcher, readdirSync, type Stats, statSync, watch } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { Coalesced } from '../../engine/coalesced.ts';
import type { Feature } from './feature.ts';
import { FeatureParser, type FeatureTexts, isTaskFile, readFeatureFile } from './parse-feature.ts';
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
/** A long comparison of all files is repeated only after a pause of this many times its duration. */
const SHORT_MS = 1;
const PAUSE_FACTOR = 4;
/** Where changes are reported reliably, and soon, all files are compared only now and then. */
const CAN_WATCH = process.platform === 'linux';
const MAX_WATCHED = 50;
const WATCHED_PAUSE_MS = 2000;

/**
 * What Volley wrote to the task files of a project, kept in memory during a run. It follows the changes of other Volley
 * processes through the journal of the copies, so reading does not depend on the number of files, and nobody else can
 * make the run believe something.
 */
export class TaskGuard {
  private readonly texts = new Map<string, Map<string, string | Error>>();
  private readonly parsers = new Map<string, FeatureParser>();
  private readonly stamps = new Map<string, Stamp>();
  private readonly watchers = new Map<string, FSWatcher>();
  /** Files that may have changed since they were compared. Undefined if some changes are not reported. */
  private touched: Set<string> | undefined = CAN_WATCH ? new Set() : undefined;
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
    this.watch(feature);
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

  /** Takes note of what Volley wrote, under the lock of the folder. Somebody may have changed it since, so it is compared. */
  wrote(feature: string, file: string, text: string): void {
    const path = join(feature, file);
    this.texts.get(feature)?.set(file, text);
    this.stamps.delete(path);
    this.touched?.add(path);
    this.journalAt = this.copies.journalSize();
  }

  /** Compares one file. */
  async differs(feature: string, file: string): Promise<DifferingFile | undefined> {
    const text = this.texts.get(feature)?.get(file);
    if (text instanceof Error || this.isUnchanged(join(feature, file))) return undefined;
    return (await this.isSame(join(feature, file), text)) ? undefined : { feature, file, text };
  }

  /** The next comparison reads every file. */
  distrust(): void {
    this.stamps.clear();
    this.touched = undefined;
    this.restUntil = 0;
  }

  async close(): Promise<void> {
    for (const watcher of this.watchers.values()) watcher.close();
    await this.copies.close();
  }

  private watch(feature: string): void {
    if (this.touched === undefined || this.watchers.has(feature)) return;
    try {
      if (this.watchers.size >= MAX_WATCHED) throw new Error('too many');
      const watcher = watch(join(this.path, feature), (_, file) => {
        if (file !== null && isTaskFile(file)) this.touched?.add(join(feature, file));
      });
      watcher.on('error', () => this.distrust());
      watcher.unref();
      this.watchers.set(feature, watcher);
    } catch {
      this.distrust();
    }
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
      if (texts.size === 0) this.watch(feature);
      this.texts.set(feature, texts.set(file, text));
      this.stamps.delete(join(feature, file));
    }
  }

  private async compare(): Promise<DifferingFile[]> {
    // What was written before is reported within a turn of the event loop.
    for (let turns = 0; this.touched !== undefined && turns < 2; turns++) await turn();
    await this.sync();
    const restMs = this.restUntil - performance.now();
    if (restMs > 0 && this.touched !== undefined) return this.compareTouched(this.touched);
    if (restMs > 0) await sleep(restMs);
    return this.compareAll();
  }

  private async compareTouched(touched: Set<string>): Promise<DifferingFile[]> {
    const found: DifferingFile[] = [];
    for (const path of [...touched]) {
      touched.delete(path);
      const one = await this.differs(dirname(path), basename(path));
      if (one === undefined) continue;
      found.push(one);
      // Until it is restored.
      touched.add(path);
    }
    return found;
  }

  /** The pause afterwards keeps this a small part of the work, however many files there are. */
  private async compareAll(): Promise<DifferingFile[]> {
    const found: DifferingFile[] = [];
    let spentMs = 0;
    let since = performance.now();
    for (const [feature, texts] of this.texts) {
      const files = new Set([...texts.keys(), ...this.filesOf(feature)]);
      for (const file of files) {
        const one = await this.differs(feature, file);
        if (one !== undefined) found.push(one);
        const now = performance.now();
        if (now - since < SLICE_MS) continue;
        spentMs += now - since;
        await turn();
        since = performance.now();
      }
    }
    spentMs += performance.now() - since;
    const pauseMs = Math.max(this.touched === undefined ? 0 : WATCHED_PAUSE_MS, PAUSE_FACTOR * spentMs);
    this.restUntil = spentMs < SHORT_MS ? 0 : performance.now() + pauseMs;
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
    const found = stats && (await readFeatureFile(join(this.path, path)));
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
