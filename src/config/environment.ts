import { isDeeperThan } from '../core/depth.ts';
import { nearest } from '../core/nearest.ts';
import { listText } from '../core/words.ts';
import {
  type Key,
  type SchemaNode,
  schemaOutline,
  tablesOf,
  tablesOfSection,
  VARIABLE_PREFIX,
} from './outline.ts';
import type { ConfigProblem } from './problems.ts';
import { DEFAULTS } from './schema.ts';
import { CLUSTER_KEY_VARIABLE, TRUST_VARIABLE } from './user-folder.ts';

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** The value of one environment variable. */
export interface Override {
  readonly variable: string;
  readonly path: readonly string[];
  readonly value: unknown;
}

/** Variables that are not settings: the subtask context of agents, an approval, and a secret. */
const NO_SETTINGS = new Set([
  ...['FEATURE', 'SUBTASK', 'AGENT', 'TASKS_PROJECT', 'WORKSPACE', 'RUN_MAILBOX', 'RUN_TOKEN'].map(
    (name) => `${VARIABLE_PREFIX}${name}`,
  ),
  TRUST_VARIABLE,
  CLUSTER_KEY_VARIABLE,
]);

/** No list setting contains lists. */
const MAX_DEPTH = 10;

/** A table of the file as the parser returns it. */
export type TomlTable = { [key: string]: unknown };

/**
 * Finds settings in the environment. An unknown variable in, or close to, one of our sections is a problem: most likely
 * a typo. Other variables with our prefix are ignored.
 */
export function readOverrides(
  env: EnvironmentVariables,
  data: TomlTable,
): { readonly overrides: readonly Override[]; readonly problems: readonly ConfigProblem[] } {
  const variables = Object.entries(env).filter(
    ([name, text]) => name.startsWith(VARIABLE_PREFIX) && text && !NO_SETTINGS.has(name),
  );
  // Building the outline takes longer than everything else.
  if (variables.length === 0) return { overrides: [], problems: [] };
  const names = variables.map(([name]) => name);
  const some = fixedKeys(
    sectionsIn(names).flatMap((section) => tablesOfSection(section).flatMap((table) => table.keys)),
  );
  const areKnown = names.every((name) => some.has(name));
  const keys = areKnown ? [] : tablesOf().flatMap((table) => table.keys);
  const fixed = areKnown ? some : fixedKeys(keys);
  const chosen = keys.filter(hasOneChosenName);
  const overrides: Override[] = [];
  const problems: ConfigProblem[] = [];
  for (const [variable, text = ''] of variables) {
    const key = fixed.get(variable);
    if (key !== undefined) {
      overrides.push({ variable, path: key.path, value: readValue(text, key.node) });
      continue;
    }
    const found = findChosen(variable, chosen, data);
    if (found !== undefined) {
      overrides.push({ variable, path: found.path, value: readValue(text, found.key.node) });
      continue;
    }
    const problem = unknownVariable(variable, [...fixed.keys()]);
    if (problem !== undefined) problems.push(problem);
  }
  return { overrides, problems };
}

function fixedKeys(keys: readonly Key[]): Map<string, Key> {
  return new Map(keys.filter(hasFixedName).map((key) => [key.variable, key]));
}

function sectionsIn(variables: readonly string[]): (keyof typeof DEFAULTS)[] {
  const sections = Object.keys(DEFAULTS) as (keyof typeof DEFAULTS)[];
  return sections.filter((section) =>
    variables.some((variable) => variable.startsWith(`${VARIABLE_PREFIX}${section.toUpperCase()}_`)),
  );
}

/** Applies the environment's settings over those of the file. */
export function applyOverrides(data: TomlTable, overrides: readonly Override[]): void {
  for (const { path, value } of overrides) {
    let table = data;
    for (const name of path.slice(0, -1)) {
      // Without a prototype, like the parser's objects: a name like __proto__ is an ordinary name.
      table[name] ??= Object.create(null);
      table = table[name] as TomlTable;
      // The file has a different type there, which is reported separately.
      if (typeof table !== 'object' || Array.isArray(table)) break;
    }
    if (typeof table === 'object' && !Array.isArray(table)) table[path.at(-1)!] = value;
  }
}

function hasFixedName({ path }: Key): boolean {
  return !path.includes('*');
}

/** With two chosen names, the end of the first would be ambiguous. */
function hasOneChosenName({ path }: Key): boolean {
  return path.filter((part) => part === '*').length === 1;
}

/** A variable whose name contains one chosen by the user, as in VOLLEY_LIMITS_TOOLS_<NAME>_MAX_CONCURRENCY. */
function findChosen(variable: string, keys: readonly Key[], data: TomlTable) {
  for (const key of keys) {
    const [before, after] = key.variable.split('<NAME>') as [string, string];
    const isLongEnough = variable.length > before.length + after.length;
    if (!isLongEnough || !variable.startsWith(before) || !variable.endsWith(after)) continue;
    const capitals = variable.slice(before.length, variable.length - after.length);
    const at = key.path.indexOf('*');
    const known = Object.keys(tableAt(data, key.path.slice(0, at)));
    const name = known.find((candidate) => inCapitals(candidate) === capitals) ?? capitals.toLowerCase();
    return { key, path: key.path.with(at, name) };
  }
  return undefined;
}

function tableAt(data: TomlTable, path: readonly string[]): TomlTable {
  let value: unknown = data;
  for (const name of path) value = (value as TomlTable | undefined)?.[name];
  return typeof value === 'object' && value !== null ? (value as TomlTable) : {};
}

function inCapitals(name: string): string {
  return name.toUpperCase().replace(/[^A-Z0-9_]/g, '_');
}

/** A value that does not parse as the expected type stays a string, and the schema rejects it. */
function readValue(text: string, { type }: SchemaNode): unknown {
  const trimmed = text.trim();
  switch (type) {
    case 'integer':
    case 'number':
      return /^[+-]?[\d_]+(\.\d+)?(e[+-]?\d+)?$/i.test(trimmed) ? Number(trimmed.replaceAll('_', '')) : text;
    case 'boolean':
      if (/^(true|1)$/i.test(trimmed)) return true;
      return /^(false|0)$/i.test(trimmed) ? false : text;
    case 'array':
      return trimmed.startsWith('[') ? parsedList(trimmed) : trimmed.split(',').map((item) => item.trim());
    default:
      return trimmed;
  }
}

function parsedList(text: string): unknown {
  try {
    const list: unknown = JSON.parse(text);
    return isDeeperThan(list, MAX_DEPTH) ? text : list;
  } catch {
    return text;
  }
}

function unknownVariable(variable: string, known: readonly string[]): ConfigProblem | undefined {
  const rest = variable.slice(VARIABLE_PREFIX.length);
  const close = nearest(
    rest,
    known.map((name) => name.slice(VARIABLE_PREFIX.length)),
  );
  const section = Object.keys(schemaOutline().properties!).find((name) =>
    `${rest}_`.startsWith(`${name.toUpperCase()}_`),
  );
  if (close === undefined && section === undefined) return undefined;
  const hint =
    close !== undefined
      ? `Did you mean ${VARIABLE_PREFIX}${close}?`
      : `[${section}] has ${listText(variablesOf(section!, known))}.`;
  return { text: `no setting has this variable. ${hint}`, key: undefined, variable, place: undefined };
}

function variablesOf(section: string, known: readonly string[]): string[] {
  return known.filter((name) => name.startsWith(`${VARIABLE_PREFIX}${section.toUpperCase()}_`));
}
