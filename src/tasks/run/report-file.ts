import { statSync } from 'node:fs';
import { join } from 'node:path';
import { VolleyError } from '../../core/errors.ts';
import { codeOf, fileFailure } from '../../tools/builtin/refusal.ts';
import { replaceFile } from '../../tools/builtin/replace-file.ts';
import { Roots } from '../../tools/builtin/roots.ts';
import { readRegularFile } from '../files/regular-file.ts';
import type { TaskFolder } from '../files/task-folder.ts';
import type { RunReport } from './report.ts';

const FILE = 'report.json';
const LIMITS = { maxBytes: 64 * 1024 * 1024, followLinks: true };

/** Keeps the report of the last run beside the tasks. The file appears whole or not at all. */
export async function writeReport(folder: TaskFolder, report: RunReport): Promise<void> {
  const options = { createDirectories: false, signal: new AbortController().signal };
  const text = `${JSON.stringify(report, null, 2)}\n`;
  await replaceFile(new Roots([folder.path]), join(report.feature, FILE), options, async (handle) =>
    handle.writeFile(text),
  );
}

/** When the last report was written, by the clock of the files. */
export function reportWrittenAt(folder: TaskFolder, feature: string): number | undefined {
  return statSync(join(folder.path, feature, FILE), { throwIfNoEntry: false })?.mtimeMs;
}

/** The report of the last run; undefined where there was none. */
export async function readReport(folder: TaskFolder, feature: string): Promise<RunReport | undefined> {
  const path = join(folder.path, feature, FILE);
  let text: string;
  try {
    text = await readRegularFile(path, LIMITS);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new VolleyError(
      'TASKS_UNAVAILABLE',
      fileFailure('read', path, error).message,
      { path },
      { cause: error },
    );
  }
  try {
    const data = JSON.parse(text) as RunReport;
    // Earlier versions kept less.
    if (Array.isArray(data.subtasks) && typeof data.status === 'string')
      return { ...data, options: data.options ?? [], changed_in_project: data.changed_in_project ?? [] };
  } catch {
    // The same as what is no report.
  }
  throw new VolleyError(
    'TASKS_UNAVAILABLE',
    `${path} is no report of a run: take it away, and the next run writes a new one.`,
    { path },
  );
}

/** What to say where a feature has no report. */
export function notRunYet(feature: string): VolleyError {
  const message = `${feature} has not been run yet: volley tasks run ${feature} does.`;
  return new VolleyError('INVALID_VALUE', message, { feature });
}
