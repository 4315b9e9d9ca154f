import { lstatSync, type Stats, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { VolleyError } from '../core/errors.ts';
import type { AssembledSettings } from './assemble.ts';
import { toConfig, type VolleyConfig } from './config.ts';
import { configError } from './problems.ts';
import { DEFAULTS, type Settings } from './schema.ts';
import type { TrustQuestion } from './trust.ts';
import { TRUST_VARIABLE } from './user-folder.ts';

const FILE_NAME = 'volley.toml';

/** Where a configuration is looked for. */
export interface LoadOptions {
  /** Where the search for `volley.toml` begins, upward. Default: the working directory. */
  readonly cwd?: string;
  /** A certain file instead of a search; it must exist. */
  readonly file?: string;
  /** The environment with its `VOLLEY_…` variables. Default: that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * Whether you vouch for the file and for what it names: then all of it holds. Otherwise what could run code or reach
   * further holds only where the user has approved the folder with `volley trust`.
   */
  readonly trusted?: boolean;
}

/** A configuration, and where it comes from. */
export interface LoadedConfig {
  readonly config: VolleyConfig;
  /** The same in the words of the file, with the defaults filled in. */
  readonly settings: Settings;
  /** The file, absolute; undefined where there is none. */
  readonly file: string | undefined;
}

/**
 * The nearest `volley.toml` in a folder or above it. It names code that is run, so it must be the user's own or the
 * system's: anybody may put a file into a folder such as /tmp.
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
  // A link decides from which folder modules are loaded, so whose it is counts too.
  const problem = distrust(lstatSync(file)) ?? distrust(stats);
  if (problem === undefined) return;
  const text = `${problem}, so it is not taken without being asked for: it could name code of somebody else. If you trust it, name it with --config (\`file\` of loadConfig).`;
  throw configError([{ text, key: undefined, variable: undefined, place: undefined }], file, '');
}

function distrust(stats: Stats): string | undefined {
  const user = process.getuid?.();
  // This system knows no such owners.
  if (user === undefined) return undefined;
  if (stats.uid !== 0 && stats.uid !== user)
    return `the file belongs to another user (${stats.uid}; you are ${user})`;
  // The mode of a link says nothing.
  if (!stats.isSymbolicLink() && (stats.mode & 0o002) !== 0) return 'everybody may write to the file';
  return undefined;
}

/**
 * Reads the configuration: the file, what the environment says instead, and the defaults for the rest. An error shows
 * everything that is wrong at once.
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

/** What a person is asked to trust: the file that would hold here, and what in it waits. Undefined without a file. */
export async function inspectConfig(options: LoadOptions = {}): Promise<TrustQuestion | undefined> {
  const { file, folder, env } = placeOf(options);
  if (file === undefined) return undefined;
  const { waitingSettings } = await import('./gate.ts');
  const { said, bytes } = await assemble(file, folder, env);
  return { file, folder, env, said, bytes, waiting: waitingSettings(said, folder) };
}

/**
 * Where the store is, for those who only look at it. Other parts of the configuration are not looked at, because that
 * takes longer than all the rest of such a command.
 */
export async function loadStoreFile(options: LoadOptions = {}): Promise<string> {
  const { file, folder, env } = placeOf(options);
  if (file !== undefined && !mentionsVolley(env)) {
    const { storeOfFile } = await import('./source.ts');
    const found = await storeOfFile(file);
    if (found !== undefined && (await isStoreOfFolder(found, folder))) {
      await requireOwnStore(found, folder);
      return resolve(folder, found);
    }
  }
  return (await loadConfig(options)).config.store.file;
}

/** Another place has to be approved. */
async function isStoreOfFolder(path: string, folder: string): Promise<boolean> {
  return path === DEFAULTS.store.file || (await import('./gate.ts')).leadsInside(path, folder);
}

/**
 * The store lies in `.volley` without being approved, so no link that came with the folder may lead it elsewhere. Another
 * place has been approved, or lies in the folder wherever links lead.
 */
async function requireOwnStore(path: string, folder: string): Promise<void> {
  if (path !== DEFAULTS.store.file) return;
  const link = [dirname(path), path, `${path}-wal`, `${path}-shm`].find((name) =>
    lstatSync(resolve(folder, name), { throwIfNoEntry: false })?.isSymbolicLink(),
  );
  if (link === undefined || (await import('./gate.ts')).leadsInside(link, folder)) return;
  throw new VolleyError(
    'STORE_UNAVAILABLE',
    `The store ${resolve(folder, path)} is not available: ${resolve(folder, link)} is a link that leads out of the folder. Remove the link; if the store is meant to be elsewhere, set store.file in volley.toml, or VOLLEY_STORE_FILE.`,
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
