import type { SharedLimits } from '../core/catalog.ts';
import type { EngineLimits } from '../engine/engine.ts';
import type { LimitSettings } from './config.ts';
import type { LoadedConfig } from './load.ts';
import { pathText } from './toml-text.ts';

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
    else leaves.set(pathText([...path, name]), JSON.stringify(child));
  }
  return leaves;
}
