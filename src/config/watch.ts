import { type FSWatcher, watch } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { SharedLimits } from '../core/catalog.ts';
import { VolleyError } from '../core/errors.ts';
import type { EngineLimits } from '../engine/engine.ts';
import type { LimitSettings } from './config.ts';
import { type LoadedConfig, type LoadOptions, loadConfig } from './load.ts';
import { keyText } from './toml-text.ts';

/** An editor writes a file in several steps: the file is read when it has been left alone for this time, … */
const SETTLE_MS = 100;
/** … or, in a folder that never rests, after this. */
const MAX_SETTLE_MS = 1000;

/** A configuration that is being watched. */
export interface ConfigWatch {
  /** Ends it; nothing is called any more, and no handle remains. */
  close(): void;
}

/**
 * Reads the file again when it changes. `onChange` gets every valid configuration that differs from the one before,
 * and in what. `onError` hears why a file is not valid; what was loaded before goes on holding. Watching keeps no
 * process alive. Without a file there is nothing to watch.
 */
export function watchConfig(
  current: LoadedConfig,
  onChange: (loaded: LoadedConfig, change: ConfigChange) => void,
  onError: (error: unknown) => void,
  options: Pick<LoadOptions, 'env' | 'trusted'> = {},
): ConfigWatch {
  const { file } = current;
  if (file === undefined) return { close: () => undefined };
  const watcher = new FileWatcher(file, async (isOpen) => {
    try {
      const loaded = await loadConfig({ ...options, file });
      if (!isOpen()) return;
      const change = compareConfigs(current, loaded);
      current = loaded;
      if (change.live.length + change.restart.length > 0) onChange(loaded, change);
    } catch (error) {
      if (isOpen()) onError(error);
    }
  });
  watcher.onLost = onError;
  watcher.read();
  return watcher;
}

/**
 * Tells when the text of a file changes. It watches folders, not the file: editors replace a file by another of the
 * same name, which ends a watch on the file itself. Where the file is a link, the folder that it leads to is watched
 * as well.
 */
class FileWatcher implements ConfigWatch {
  private readonly folders = new Map<string, FSWatcher>();
  private timer: NodeJS.Timeout | undefined = undefined;
  /** When the first event came that has not been looked at. */
  private waitingSince: number | undefined = undefined;
  private isClosed = false;
  private isReading = false;
  private isStale = false;
  /** What was read last; null where it could not be. */
  private lastText: string | null | undefined = undefined;
  onLost: (error: unknown) => void = () => undefined;

  constructor(
    private readonly file: string,
    private readonly changed: (isOpen: () => boolean) => Promise<void>,
  ) {}

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.watchOnly(new Set());
  }

  /** One reading at a time; what happens meanwhile is read afterwards. */
  read(): void {
    this.isStale = this.isReading;
    if (this.isReading || this.isClosed) return;
    this.isReading = true;
    void this.readOnce().finally(() => {
      this.isReading = false;
      if (this.isStale) this.read();
    });
  }

  private async readOnce(): Promise<void> {
    // The watch begins before the reading, or a change in between would go unseen.
    const real = await realpath(this.file).catch(() => this.file);
    if (this.isClosed) return;
    this.watchOnly(new Set([dirname(this.file), dirname(real)]));
    const text = await readFile(this.file, 'utf8').catch(() => null);
    if (this.isClosed || text === this.lastText) return;
    this.lastText = text;
    await this.changed(() => !this.isClosed);
  }

  private watchOnly(wanted: ReadonlySet<string>): void {
    for (const [folder, watcher] of this.folders) {
      if (wanted.has(folder)) continue;
      watcher.close();
      this.folders.delete(folder);
    }
    for (const folder of wanted) if (!this.folders.has(folder)) this.watchFolder(folder);
  }

  private watchFolder(folder: string): void {
    const lost = (error: unknown) => {
      this.folders.get(folder)?.close();
      this.folders.delete(folder);
      const text = `${folder} cannot be watched, so changes of ${this.file} need a restart: ${(error as Error).message}`;
      if (!this.isClosed) this.onLost(new VolleyError('INVALID_CONFIG', text, {}, { cause: error }));
    };
    try {
      const watcher = watch(folder, { persistent: false }, () => this.schedule());
      this.folders.set(folder, watcher.on('error', lost));
    } catch (error) {
      lost(error);
    }
  }

  private schedule(): void {
    if (this.isClosed) return;
    const now = performance.now();
    this.waitingSince ??= now;
    clearTimeout(this.timer);
    const left = Math.max(0, this.waitingSince + MAX_SETTLE_MS - now);
    this.timer = setTimeout(
      () => {
        this.waitingSince = undefined;
        this.read();
      },
      Math.min(SETTLE_MS, left),
    ).unref();
  }
}

/** What is different between two configurations. */
export interface ConfigChange {
  /** The keys that can be applied to a running engine. */
  readonly live: readonly string[];
  /** The keys that hold only after a restart. */
  readonly restart: readonly string[];
  /** For `setLimits()` of the engine: what makes the live keys hold; undefined where none changed. */
  readonly limits: EngineLimits | undefined;
}

/** Compares two configurations key by key. */
export function compareConfigs(before: LoadedConfig, after: LoadedConfig): ConfigChange {
  const [old, current] = [leavesOf(before.settings), leavesOf(after.settings)];
  const changed = [...new Set([...old.keys(), ...current.keys()])].filter(
    (key) => old.get(key) !== current.get(key),
  );
  const live = changed.filter((key) => key.startsWith('limits.'));
  return {
    live,
    restart: changed.filter((key) => !key.startsWith('limits.')),
    limits: live.length === 0 ? undefined : limitsChange(before.config.limits, after.config.limits),
  };
}

/** What `setLimits()` of an engine with the first limits needs for the second to hold. */
export function limitsChange(before: LimitSettings, after: LimitSettings): EngineLimits {
  return {
    maxConcurrency: after.maxConcurrency,
    limits: after.resources,
    tools: withRemoved(before.tools, after.tools),
    groups: withRemoved(before.groups, after.groups),
  };
}

/** The engine keeps a limit that is not mentioned, so what was taken out must be taken back by name. */
function withRemoved(
  before: Readonly<Record<string, SharedLimits>>,
  after: Readonly<Record<string, SharedLimits>>,
): Record<string, SharedLimits> {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      { maxConcurrency: Number.POSITIVE_INFINITY, rate: null, ...after[name] },
    ]),
  );
}

/** Every value by its key; a list counts as one value. */
function leavesOf(
  value: object,
  path: readonly string[] = [],
  leaves = new Map<string, string>(),
): Map<string, string> {
  for (const [name, child] of Object.entries(value)) {
    if (typeof child === 'object' && !Array.isArray(child)) leavesOf(child, [...path, name], leaves);
    else leaves.set(keyText([...path, name]), JSON.stringify(child));
  }
  return leaves;
}
