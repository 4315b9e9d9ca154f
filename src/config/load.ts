import { lstatSync, type Stats, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { VolleyError } from '../core/errors.ts';
import type { AssembledSettings } from './assemble.ts';
import { type StoreSettings, toConfig, type VolleyConfig } from './config.ts';
import { configError } from './problems.ts';
import { DEFAULTS, type Settings } from './schema.ts';
import type { TrustQuestion } from './trust.ts';
import { TRUST_VARIABLE } from './user-folder.ts';

const FILE_NAME = 'volley.toml';

/** Where to look for a configuration. */
export interface LoadOptions {
  /** Where the upward search for `volley.toml` starts. Default: the working directory. */
  readonly cwd?: string;
  /** A specific file instead of a search; it must exist. */
  readonly file?: string;
  /** The environment with its `VOLLEY_…` variables. Default: that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * Whether the caller vouches for the file and everything it names: then all settings apply. Otherwise, settings that
   * could run code or reach further apply only if the user approved the folder with `volley trust`.
   */
  readonly trusted?: boolean;
}

/** A configuration and its source. */
export interface LoadedConfig {
  readonly config: VolleyConfig;
  /** The same with the names of the file and defaults filled in. */
  readonly settings: Settings;
  /** The absolute path of the file; undefined if there is none. */
  readonly file: string | undefined;
}

/**
 * Finds the nearest `volley.toml` in a folder or above it. It names code to run, so it must belong to the user or the
 * system: anybody may put a file into a folder such as /tmp.
 */
export function findConfig(from: string): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const file = join(folder, FILE_NAME);
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats?.isFile()) {
      requireTrusted(file, stats);
      return file;
    }
    if (dirname(folder) === folder) return undefined;
  }
}

function requireTrusted(file: string, stats: Stats): void {
  // A link decides from which folder modules are loaded, so its owner counts too.
  const problem = distrust(lstatSync(file)) ?? distrust(stats);
  if (problem === undefined) return;
  const text = `${problem}, so it is not used automatically: it could run someone else's code. If you trust it, pass it with --config (\`file\` of loadConfig).`;
  throw configError([{ text, key: undefined, variable: undefined, place: undefined }], file, '');
}

function distrust(stats: Stats): string | undefined {
  const user = process.getuid?.();
  // This system has no such owners.
  if (user === undefined) return undefined;
  if (stats.uid !== 0 && stats.uid !== user)
    return `the file belongs to another user (${stats.uid}; you are ${user})`;
  // The mode of a link is meaningless.
  if (!stats.isSymbolicLink() && (stats.mode & 0o002) !== 0) return 'everyone can write to the file';
  return undefined;
}

/**
 * Loads the configuration: the file, overrides from the environment, and defaults. An error reports all problems at
 * once.
 */
export async function loadConfig(options: LoadOptions = {}): Promise<LoadedConfig> {
  const { file, folder, env } = placeOf(options);
  if (file === undefined && !mentionsVolley(env)) return await withoutFile(DEFAULTS, folder);
  const assembled = await assemble(file, folder, env);
  if (file === undefined) return withoutFile(assembled.settings, folder);
  const { gate } = await import('./trust.ts');
  const { settings, trust } = await gate({ ...assembled, file, folder, env }, options.trusted === true);
  await requireOwnStore(settings.store.file, folder);
  return { config: toConfig(settings, folder, trust), settings, file };
}

async function withoutFile(settings: Settings, folder: string): Promise<LoadedConfig> {
  await requireOwnStore(settings.store.file, folder);
  return { config: toConfig(settings, folder), settings, file: undefined };
}

/** What a user is asked to trust: the file that applies here, and its unapproved settings. Undefined without a file. */
export async function inspectConfig(options: LoadOptions = {}): Promise<TrustQuestion | undefined> {
  const { file, folder, env } = placeOf(options);
  if (file === undefined) return undefined;
  const { waitingSettings } = await import('./gate.ts');
  const { said, bytes } = await assemble(file, folder, env);
  return { file, folder, env, said, bytes, waiting: waitingSettings(said, folder) };
}

/**
 * The location of the store, for read-only commands. Skips the rest of the configuration, which would take longer than
 * the whole command.
 */
export async function loadStorePlace(
  options: LoadOptions = {},
): Promise<Pick<StoreSettings, 'file' | 'url'>> {
  const { file, folder, env } = placeOf(options);
  if (file !== undefined && !mentionsVolley(env)) {
    const { storeOfFile } = await import('./source.ts');
    const found = await storeOfFile(file);
    if (found !== undefined && (await isStoreOfFolder(found, folder))) {
      await requireOwnStore(found, folder);
      return { file: resolve(folder, found), url: undefined };
    }
  }
  return (await loadConfig(options)).config.store;
}

/** Another location needs approval. */
async function isStoreOfFolder(path: string, folder: string): Promise<boolean> {
  return path === DEFAULTS.store.file || (await import('./gate.ts')).leadsInside(path, folder);
}

/**
 * `.volley` needs no approval, so no link that came with the folder may redirect it. Any other location was approved,
 * or is inside the folder after resolving links.
 */
async function requireOwnStore(path: string, folder: string): Promise<void> {
  if (path !== DEFAULTS.store.file) return;
  const link = [dirname(path), path, `${path}-wal`, `${path}-shm`].find((name) =>
    lstatSync(resolve(folder, name), { throwIfNoEntry: false })?.isSymbolicLink(),
  );
  if (link === undefined || (await import('./gate.ts')).leadsInside(link, folder)) return;
  throw new VolleyError(
    'STORE_UNAVAILABLE',
    `The store ${resolve(folder, path)} is not available: ${resolve(folder, link)} is a link that leads out of the folder. Remove the link, or, if the store should be elsewhere, set store.file in volley.toml, or VOLLEY_STORE_FILE.`,
    { file: resolve(folder, path), link: resolve(folder, link) },
  );
}

function placeOf({ cwd = process.cwd(), env = process.env, file: named }: LoadOptions) {
  const file = named === undefined ? findConfig(cwd) : resolve(cwd, named);
  return { file, folder: file === undefined ? cwd : dirname(file), env };
}

async function assemble(
  file: string | undefined,
  folder: string,
  env: NonNullable<LoadOptions['env']>,
): Promise<AssembledSettings> {
  if (file !== undefined && !mentionsVolley(env)) {
    const { settingsOfValidFile } = await import('./valid-file.ts');
    const assembled = await settingsOfValidFile(file, folder);
    if (assembled !== undefined) return assembled;
  }
  const { assembleSettings } = await import('./assemble.ts');
  return assembleSettings(file, folder, env);
}

function mentionsVolley(env: NonNullable<LoadOptions['env']>): boolean {
  return Object.keys(env).some((name) => name.startsWith('VOLLEY_') && name !== TRUST_VARIABLE);
}
