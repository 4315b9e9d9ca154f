import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { VolleyConfig } from './config.ts';
import { DEFAULTS } from './defaults.ts';
import { toConfig } from './resolve.ts';
import type { Settings } from './schema.ts';

const FILE_NAME = 'volley.toml';

/** Where a configuration is looked for. */
export interface LoadOptions {
  /** Where the search for `volley.toml` begins, upward. Default: the working directory. */
  readonly cwd?: string;
  /** A certain file instead of a search; it must exist. */
  readonly file?: string;
  /** The environment with its `VOLLEY_…` variables. Default: that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** A configuration, and where it comes from. */
export interface LoadedConfig {
  readonly config: VolleyConfig;
  /** The same in the words of the file, with the defaults filled in. */
  readonly settings: Settings;
  /** The file, absolute; undefined where there is none. */
  readonly file: string | undefined;
}

/** The nearest `volley.toml` in a folder or above it. */
export function findConfig(from: string): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const file = join(folder, FILE_NAME);
    if (statSync(file, { throwIfNoEntry: false })?.isFile()) return file;
    if (dirname(folder) === folder) return undefined;
  }
}

/**
 * Reads the configuration: the file, what the environment says instead, and the defaults for the rest. An error shows
 * everything that is wrong at once.
 */
export async function loadConfig(options: LoadOptions = {}): Promise<LoadedConfig> {
  const { cwd = process.cwd(), env = process.env } = options;
  const file = options.file === undefined ? findConfig(cwd) : resolve(cwd, options.file);
  const folder = file === undefined ? cwd : dirname(file);
  const settings = file === undefined && !mentionsVolley(env) ? DEFAULTS : await assemble(file, folder, env);
  return { config: toConfig(settings, folder), settings, file };
}

async function assemble(file: string | undefined, folder: string, env: NonNullable<LoadOptions['env']>) {
  const { assembleSettings } = await import('./assemble.ts');
  return assembleSettings(file, folder, env);
}

function mentionsVolley(env: NonNullable<LoadOptions['env']>): boolean {
  return Object.keys(env).some((name) => name.startsWith('VOLLEY_'));
}
