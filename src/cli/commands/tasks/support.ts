import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { VolleyConfig } from '../../../config/config.ts';
import { loadConfig } from '../../../config/load.ts';
import { VolleyError } from '../../../core/errors.ts';
import type { Feature } from '../../../tasks/feature.ts';
import type { TaskFolder } from '../../../tasks/files/task-folder.ts';
import { taskPlaceOf } from '../../../tasks/files/task-place.ts';
import { fileFailure } from '../../../tools/builtin/refusal.ts';
import { EXIT, type ExitStatus, type Io } from '../../output/io.ts';
import { rewriteCommands } from '../../output/wording.ts';
import type { CommonOptions } from '../../program/command.ts';

const MAX_BYTES = 8 * 1024 * 1024;

export const FEATURE_ARGUMENT = ['<feature>', 'the name of its folder in .tmp/tasks'] as const;
export const FEATURES_ARGUMENT = [
  '[feature]',
  'the name of its folder in .tmp/tasks (default: all)',
] as const;
export const SEQ_ARGUMENT = ['<seq>', 'the number of the subtask'] as const;

export function openFolder({ cwd, env }: Io): TaskFolder {
  return taskPlaceOf(cwd, env).folder;
}

/** The configuration of the project that the tasks are in. */
export async function configOf(
  { project }: TaskFolder,
  { config: file }: CommonOptions,
  { env }: Io,
): Promise<VolleyConfig> {
  return (await loadConfig({ cwd: project, env, ...(file !== undefined && { file }) })).config;
}

/** The named feature, or all of them. */
export async function featuresOf(folder: TaskFolder, name: string | undefined): Promise<Feature[]> {
  const names = name === undefined ? await folder.names() : [name];
  return Promise.all(names.map((one) => folder.read(one)));
}

/** Prints an answer: for people, or for programs. */
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

/** What there is to say of several features; a sentence where there is none. */
export function paragraphs(texts: readonly string[], { path }: TaskFolder): string {
  return texts.length === 0
    ? `There are no features in ${path}: volley tasks new makes one.`
    : texts.join('\n\n');
}

/** The text of a file that the user names. */
export async function readInput(path: string, { cwd }: Io): Promise<string> {
  const file = resolve(cwd, path);
  try {
    const { size } = await stat(file);
    if (size > MAX_BYTES) throw new VolleyError('INVALID_FEATURE', `${path} is larger than 8 MB.`, { path });
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof VolleyError) throw error;
    throw new VolleyError(
      'INVALID_FEATURE',
      fileFailure('read', path, error).message,
      { path },
      { cause: error },
    );
  }
}
