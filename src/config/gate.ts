import { readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../core/values.ts';
import type { Override, TomlTable } from './environment.ts';
import { DEFAULTS, type Settings } from './schema.ts';
import { keyText } from './toml-text.ts';

/** A setting of a folder's file that applies only if the user trusts the folder. */
export interface WaitingSetting {
  /** As written in the file: `tools.modules`, `mcp.servers.NAME`. */
  readonly setting: string;
  readonly path: readonly string[];
  /** The value in the file. */
  readonly value: unknown;
}

type Path = readonly string[];

/**
 * Settings that apply without trust, because they only tune or restrict. Any setting not listed here needs approval, so a
 * new setting is safe by default.
 */
const TUNING: readonly Path[] = [
  ['engine'],
  ['limits'],
  ['defaults'],
  ['threads'],
  ['cache'],
  ...['log_mb', 'task_log_mb'].map((key) => ['store', key]),
  ...['allow', 'deny', 'protected', 'files'].map((key) => ['tools', key]),
  ...['allow_hosts', 'max_bytes', 'max_redirects', 'timeout_ms'].map((key) => ['tools', 'http_request', key]),
  ...['memory_mb', 'cpu_ms', 'open_files', 'processes', 'output_bytes', 'result_bytes', 'disk_mb'].map(
    (key) => ['processes', key],
  ),
  ['secrets', 'max_text_length'],
  ['server', 'port'],
  ['mcp_server', 'profile'],
  ...['max_concurrent', 'worktrees', 'review', 'max_unreviewed', 'timeout', 'stall', 'max_retries'].map(
    (key) => ['tasks', key],
  ),
  ...['allowed_commands', 'budget'].map((key) => ['tasks', key]),
];

/** Tables that are approved as a whole: part of such a table would mean something else, or nothing. */
const WHOLE: readonly Path[] = [
  ['mcp', 'servers', '*'],
  ['tasks', 'agents', '*'],
  ['models', '*'],
  ['server', 'tokens', '*'],
  ['server', 'tls'],
];

/** Deny lists: without trust the file can add to the defaults, but not remove from them. */
const ADDED_TO: readonly Path[] = [
  ['secrets', 'names'],
  ['tasks', 'denied_paths'],
];

/**
 * The settings of a file that need trust: those that could run code, reach further or protect less. A setting that the
 * user overrides with an environment variable does not.
 */
export function waitingSettings(
  said: TomlTable,
  folder: string,
  overrides: readonly Override[] = [],
): WaitingSetting[] {
  return entriesOf(said)
    .filter(({ path, value }) => {
      const isOverridden = overrides.some((override) => isDeepStrictEqual(override.path, path));
      return !isOverridden && !isHarmless(path, value, folder);
    })
    .map(({ path, value }) => ({ setting: keyText(path), path, value }));
}

/** Replaces the settings that need approval with their defaults. */
export function withoutWaiting(settings: Settings, waiting: readonly WaitingSetting[]): Settings {
  const gated = structuredClone(settings) as TomlTable;
  for (const { path, value } of waiting) {
    const table = valueAt(gated, path.slice(0, -1)) as TomlTable;
    const byDefault = valueAt(DEFAULTS, path);
    const name = path.at(-1)!;
    if (isOneOf(ADDED_TO, path))
      table[name] = [...new Set([...(byDefault as string[]), ...(value as string[])])];
    else if (byDefault === undefined) delete table[name];
    else table[name] = structuredClone(byDefault);
  }
  return gated as unknown as Settings;
}

/** Whether a path of the file leads into its folder after resolving links. */
export function leadsInside(path: unknown, folder: string): boolean {
  if (typeof path !== 'string') return false;
  const way = relative(realPath(folder), realPath(resolve(folder, path)));
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** Resolves a path, keeping trailing names that do not exist. */
function realPath(path: string, links = 0): string {
  try {
    return realpathSync.native(path);
  } catch {
    if (path === dirname(path)) return path;
    const folder = realPath(dirname(path), links);
    const here = join(folder, basename(path));
    // A link may lead to something that does not exist yet.
    const target = links < MAX_LINKS ? linkAt(here) : undefined;
    return target === undefined ? here : realPath(resolve(folder, target), links + 1);
  }
}

const MAX_LINKS = 40;

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

function isHarmless(path: Path, value: unknown, folder: string): boolean {
  if (TUNING.some((start) => start.every((part, index) => path[index] === part))) return true;
  const byDefault = valueAt(DEFAULTS, path);
  if (isDeepStrictEqual(value, byDefault)) return true;
  switch (path.join('.')) {
    case 'tools.roots':
      return Array.isArray(value) && value.every((root) => leadsInside(root, folder));
    case 'store.file':
      return leadsInside(value, folder);
    case 'processes.sandbox':
      return value === 'required';
    default:
      return (
        isOneOf(ADDED_TO, path) &&
        Array.isArray(value) &&
        (byDefault as string[]).every((name) => value.includes(name))
      );
  }
}

/** Every setting of a file by path; a list is one value, and so are some tables. */
function entriesOf(value: unknown, path: Path = []): { path: Path; value: unknown }[] {
  const isTable = isObject(value) && !(value instanceof Date);
  if (!isTable || isOneOf(WHOLE, path)) return [{ path, value }];
  return Object.entries(value).flatMap(([name, child]) => entriesOf(child, [...path, name]));
}

function isOneOf(paths: readonly Path[], path: Path): boolean {
  return paths.some(
    (one) => one.length === path.length && one.every((part, index) => part === '*' || part === path[index]),
  );
}

function valueAt(value: unknown, path: Path): unknown {
  let at = value;
  for (const name of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as TomlTable)[name];
  }
  return at;
}
