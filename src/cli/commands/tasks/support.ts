import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { VolleyConfig } from '../../../config/config.ts';
import { loadConfig } from '../../../config/load.ts';
import { VolleyError } from '../../../core/errors.ts';
import type { Feature } from '../../../tasks/files/feature.ts';
import type { Moment } from '../../../tasks/files/readiness.ts';
import { locateTasks, type TaskFolder } from '../../../tasks/files/task-folder.ts';
import { fileFailure } from '../../../tools/builtin/refusal.ts';
import { EXIT, type ExitStatus, type Io } from '../../output/io.ts';
import { rewriteCommands } from '../../output/wording.ts';
import type { CommonOptions } from '../../program/command.ts';

const MAX_BYTES = 8 * 1024 * 1024;

export const FEATURE_ARGUMENT = [
  '<feature>',
  'the name of the feature, which is its folder in .tmp/tasks',
] as const;
export const FEATURES_ARGUMENT = [
  '[feature]',
  'the name of the feature, which is its folder in .tmp/tasks (default: all)',
] as const;
export const SEQ_ARGUMENT = ['<seq>', 'the number of the subtask'] as const;

export function openFolder({ cwd, env }: Io): TaskFolder {
  return locateTasks(cwd, env).folder;
}

/** The configuration of the project that has the tasks. */
export async function configOf(
  { project }: TaskFolder,
  { config: file }: CommonOptions,
  { env }: Io,
): Promise<VolleyConfig> {
  return (await loadConfig({ cwd: project, env, ...(file !== undefined && { file }) })).config;
}

/** Describes the named feature, or all of them, and prints the result. */
export async function showFeatures<V extends object>(
  name: string | undefined,
  options: CommonOptions,
  io: Io,
  describe: (feature: Feature, moment: Moment) => { readonly text: string; readonly view: V },
  statusOf: (views: readonly V[]) => ExitStatus = () => EXIT.ok,
): Promise<ExitStatus> {
  const folder = openFolder(io);
  const moment = folder.moment();
  const names = name === undefined ? await folder.names() : [name];
  const features = await Promise.all(names.map((one) => folder.read(one)));
  const found = features.map((feature) => describe(feature, moment));
  const views = found.map(({ view }) => view);
  const text =
    found.map((one) => one.text).join('\n\n') ||
    `No features in ${folder.path}. Create one with volley tasks new.`;
  return say(io, options, { features: views }, text, statusOf(views));
}

/** Prints text for people or JSON for programs. */
export function say(
  io: Io,
  { json = false, config }: CommonOptions,
  data: Readonly<Record<string, unknown>>,
  text: string,
  status: ExitStatus = EXIT.ok,
): ExitStatus {
  if (json) io.stdout.writeJson({ ok: status === EXIT.ok, ...data });
  else io.stdout.write(`${rewriteCommands(text, { config }, io)}\n`);
  return status;
}

/** Reads a file that the user names. */
export async function readInputFile(path: string, { cwd }: Io): Promise<string> {
  const file = resolve(cwd, path);
  try {
    const { size } = await stat(file);
    if (size > MAX_BYTES) throw new VolleyError('INVALID_FEATURE', `${path} is larger than 8 MB.`, { path });
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof VolleyError) throw error;
    const { message } = fileFailure('read', path, error);
    throw new VolleyError('INVALID_FEATURE', message, { path }, { cause: error });
  }
}
