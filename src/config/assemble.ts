import { checkConfig, type Finding } from './check.ts';
import {
  applyOverrides,
  type EnvironmentVariables,
  type Override,
  readOverrides,
  type TomlTable,
} from './environment.ts';
import { type ConfigProblem, configError } from './problems.ts';
import type { Settings } from './schema.ts';
import { parseSource, readSource } from './source.ts';
import type { TomlPlaces } from './toml-places.ts';
import { keyText } from './toml-text.ts';
import { rootFindings, undeclaredResources } from './valid-file.ts';

/** Settings and their sources. */
export interface AssembledSettings {
  readonly settings: Settings;
  /** The settings of the file. */
  readonly said: TomlTable;
  /** The overrides from the environment. */
  readonly overrides: readonly Override[];
  /** The file's content when it was read. */
  readonly bytes: Buffer;
}

/**
 * Merges the settings of file and environment. All problems of either are reported in one error. This module loads the
 * parser and the schema library, so it is loaded only if something is configured.
 */
export async function assembleSettings(
  file: string | undefined,
  folder: string,
  env: EnvironmentVariables,
): Promise<AssembledSettings> {
  const { bytes, text } = file === undefined ? NO_SOURCE : await readSource(file);
  const parsed = parseSource(text);
  const data: TomlTable = 'data' in parsed ? parsed.data : Object.create(null);
  const { overrides, problems: unknownVariables } = readOverrides(env, data);
  const said = structuredClone(data);
  applyOverrides(data, overrides);
  const checked = checkConfig(data);
  const findings = [
    ...('findings' in checked ? checked.findings : undeclaredResources(checked.settings)),
    ...(await rootFindings(data, folder)),
  ];
  const syntax = 'problem' in parsed ? [parsed.problem] : [];
  if (findings.length + unknownVariables.length + syntax.length > 0) {
    const locate = await locator(text, overrides, syntax.length === 0);
    throw configError([...syntax, ...findings.map(locate), ...unknownVariables], file, text);
  }
  return { settings: (checked as { settings: Settings }).settings, said, overrides, bytes };
}

const NO_SOURCE = { bytes: Buffer.alloc(0), text: '' };

/** Finds the source of a problem: a variable, or a place in the file. */
async function locator(
  text: string,
  overrides: readonly Override[],
  isValidToml: boolean,
): Promise<(finding: Finding) => ConfigProblem> {
  const places = isValidToml ? await placesOf(text) : undefined;
  return ({ path, part, text: what }) => {
    const table = path.slice(0, -1);
    const isOutsideFile = table.length > 0 && places?.has(table) !== true;
    const said =
      overrides.find((override) => startsWith(path, override.path)) ??
      // A key that is missing next to one set only by a variable is missing because of that variable.
      (isOutsideFile ? overrides.find((override) => startsWith(override.path, table)) : undefined);
    const place = said === undefined ? places?.find(path, part) : undefined;
    return { text: what, key: keyText(path), variable: said?.variable, place };
  };
}

async function placesOf(text: string): Promise<TomlPlaces | undefined> {
  const { TomlPlaces } = await import('./toml-places.ts');
  try {
    return new TomlPlaces(text);
  } catch {
    // The two parsers differ in the newest syntax. The problems are then shown without their lines.
    return undefined;
  }
}

function startsWith(path: readonly PropertyKey[], start: readonly PropertyKey[]): boolean {
  return start.every((part, index) => path[index] === part);
}
