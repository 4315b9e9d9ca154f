import type { z } from 'zod';
import { nearest } from '../core/nearest.ts';
import { listText } from '../core/words.ts';
import { nodeAt, tablesOf, validText } from './outline.ts';
import { DEFAULTS, type Settings } from './schema.ts';
import { keyText, valueText } from './toml-text.ts';
import { configSchema, sectionSchema } from './zod-schema.ts';

/** A problem with a key or its value. */
export interface Finding {
  readonly path: readonly PropertyKey[];
  readonly part: 'key' | 'value';
  readonly text: string;
}

/** How many known names are listed if none is similar. */
const MAX_LISTED = 12;

/** Validates the settings and fills in defaults, or returns all problems. */
export function checkConfig(data: unknown): { settings: Settings } | { findings: Finding[] } {
  const settings = validSettings(data);
  if (settings !== undefined) return { settings };
  const result = configSchema().safeParse(data, JITLESS);
  if (result.success) return { settings: result.data };
  const findings = new Map<string, Finding>();
  for (const finding of result.error.issues.flatMap((issue) => findingsOf(issue, data))) {
    const id = JSON.stringify(finding.path);
    if (!findings.has(id)) findings.set(id, finding);
  }
  return { findings: [...findings.values()] };
}

/** Validated once: generating faster validation code would take longer than the validation. */
const JITLESS = { jitless: true };

/** Checks only the sections that are there: making the schemas of the others would take longer than everything else. */
function validSettings(data: unknown): Settings | undefined {
  if (typeof data !== 'object' || data === null) return undefined;
  const settings: Record<string, unknown> = structuredClone(DEFAULTS);
  for (const [name, section] of Object.entries(data)) {
    if (!Object.hasOwn(DEFAULTS, name)) return undefined;
    const result = sectionSchema(name as keyof Settings).safeParse(section, JITLESS);
    if (!result.success) return undefined;
    settings[name] = result.data;
  }
  return settings as unknown as Settings;
}

function findingsOf(issue: z.core.$ZodIssue, data: unknown): Finding[] {
  const { path } = issue;
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({ path: [...path, key], part: 'key', text: unknownKey(path, key) }));
    case 'invalid_key':
      return [{ path, part: 'key', text: invalidName(path) }];
    default: {
      const rule = issue.code === 'custom' ? issue.message : `must be ${validText(nodeAt(path) ?? {})}`;
      const value = valueAt(data, path);
      const text =
        value === undefined
          ? `${keyText(path)} is missing: it ${rule}.`
          : `${keyText(path)} ${rule}, but it is ${valueText(value)}.${meant(path, value)}`;
      return [{ path, part: 'value', text }];
    }
  }
}

function unknownKey(table: readonly PropertyKey[], key: string): string {
  const known = Object.keys(nodeAt(table)?.properties ?? {});
  const near = nearest(key, known);
  if (near !== undefined) return `unknown key ${keyText([...table, key])}. Did you mean ${near}?`;
  const elsewhere = tablesOf()
    .flatMap(({ keys }) => keys)
    .find(({ path }) => path.at(-1) === key && !path.includes('*'));
  if (elsewhere !== undefined) {
    return `unknown key ${keyText([...table, key])}. Did you mean ${keyText(elsewhere.path)}?`;
  }
  const place = table.length === 0 ? 'at the top' : `in [${keyText(table)}]`;
  const names = listText(known.slice(0, MAX_LISTED), known.length);
  return `unknown key ${keyText([...table, key])}. Known ${place}: ${names}.`;
}

function invalidName(path: readonly PropertyKey[]): string {
  const rule = nodeAt(path.slice(0, -1))?.propertyNames?.description;
  return `the name in ${keyText(path)} must be ${rule}.`;
}

/** The valid choice closest to a wrong one. */
function meant(path: readonly PropertyKey[], value: unknown): string {
  const choices = nodeAt(path)?.enum;
  if (choices === undefined || typeof value !== 'string') return '';
  const near = nearest(value, choices);
  return near === undefined ? '' : ` Did you mean ${valueText(near)}?`;
}

function valueAt(data: unknown, path: readonly PropertyKey[]): unknown {
  let value = data;
  for (const part of path) value = (value as Record<PropertyKey, unknown> | undefined)?.[part];
  return value;
}
