import { type FSWatcher, watch } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { SharedLimits } from '../core/catalog.ts';
import { VolleyError } from '../core/errors.ts';
import type { EngineLimits } from '../engine/engine.ts';
import type { LimitSettings } from './config.ts';
import { type LoadedConfig, type LoadOptions, loadConfig } from './load.ts';
import { keyText } from './toml-text.ts';

/** An editor writes a file in several steps: the file is read after it has been unchanged for this time, … */
const SETTLE_MS = 100;
/** … or, in a folder that changes all the time, after this. */
const MAX_SETTLE_MS = 1000;

/** A watched configuration. */
export interface ConfigWatch {
  /** Stops watching; there are no more calls, and no handle remains. */
  close(): void;
}

/**
 * Reloads the file when it changes. `onChange` gets every valid configuration that differs from the previous one, and
 * the difference. `onError` gets the problems of an invalid file; the previous configuration stays in effect. Watching
 * does not keep the process alive. Without a file there is nothing to watch.
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
 * Calls back when the content of a file changes. It watches folders, not the file: editors replace a file with another
 * of the same name, which ends a watch on the file itself. If the file is a link, its target's folder is watched too.
 */
class FileWatcher implements ConfigWatch {
  private readonly folders = new Map<string, FSWatcher>();
  private timer: NodeJS.Timeout | undefined = undefined;
  /** When the first unprocessed event came. */
  private waitingSince: number | undefined = undefined;
  private isClosed = false;
  private isReading = false;
  private isStale = false;
  /** The content read last; null if it could not be read. */
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

  /** One read at a time; events during it cause another. */
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
    // Watch before reading, or a change in between would be missed.
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

/** The difference between two configurations. */
export interface ConfigChange {
  /** The keys that can be applied to a running engine. */
  readonly live: readonly string[];
  /** The keys that take effect only after a restart. */
  readonly restart: readonly string[];
  /** The argument for the engine's `setLimits()` that applies the live keys; undefined if none changed. */
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

/** The argument of `setLimits()` that turns the first limits into the second. */
export function limitsChange(before: LimitSettings, after: LimitSettings): EngineLimits {
  return {
    maxConcurrency: after.maxConcurrency,
    limits: after.limits,
    // The engine keeps what is not mentioned, so nothing is left of a removed one.
    resources: {
      ...Object.fromEntries(Object.keys(before.resources).map((name) => [name, 0])),
      ...after.resources,
    },
    tools: withRemoved(before.tools, after.tools),
    groups: withRemoved(before.groups, after.groups),
  };
}

/** The engine keeps limits that are not mentioned, so removed ones must be reset by name. */
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

/** Every value by key; a list counts as one value. */
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
