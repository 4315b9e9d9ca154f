import { statSync } from 'node:fs';
import { join } from 'node:path';
import { readRegularFile, replaceFileIn } from '../../config/regular-file.ts';
import { VolleyError } from '../../core/errors.ts';
import { codeOf, fileFailure } from '../../tools/builtin/refusal.ts';
import type { TaskFolder } from '../files/task-folder.ts';
import { type FeatureHistory, NO_HISTORY } from './history.ts';
import type { RunReport } from './report.ts';

const FILE = 'report.json';
const LIMITS = { maxBytes: 64 * 1024 * 1024, followLinks: true };

/** Stores the report of the last run next to the task files, atomically. */
export async function writeReport(folder: TaskFolder, report: RunReport): Promise<void> {
  await replaceFileIn(folder.path, join(report.feature, FILE), `${JSON.stringify(report, null, 2)}\n`, false);
}

/** The modification time of the last report. */
export function reportWrittenAt(folder: TaskFolder, feature: string): number | undefined {
  return statSync(join(folder.path, feature, FILE), { throwIfNoEntry: false })?.mtimeMs;
}

/** The report of the last run; undefined if there was none. */
export async function readReport(folder: TaskFolder, feature: string): Promise<RunReport | undefined> {
  const path = join(folder.path, feature, FILE);
  let text: string;
  try {
    text = await readRegularFile(path, LIMITS);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    const { message } = fileFailure('read', path, error);
    throw new VolleyError('TASKS_UNAVAILABLE', message, { path }, { cause: error });
  }
  try {
    const data = JSON.parse(text) as RunReport;
    // Older versions stored fewer fields.
    if (Array.isArray(data.subtasks) && typeof data.status === 'string')
      return {
        ...data,
        options: data.options ?? [],
        branch: data.branch ?? null,
        changed_in_project: data.changed_in_project ?? [],
        tampering: data.tampering ?? [],
        history: data.history ?? NO_HISTORY,
        statistics: { ...data.statistics, review: data.statistics.review ?? 0 },
        subtasks: data.subtasks.map((one) => ({
          ...one,
          attempt_reports: one.attempt_reports ?? [],
          forced: one.forced ?? null,
        })),
      };
  } catch {
    // Reported below.
  }
  const message = `${path} is not a run report. Delete it; the next run writes a new one.`;
  throw new VolleyError('TASKS_UNAVAILABLE', message, { path });
}

/** What all runs of a feature used; undefined if it never ran or its report cannot be read. */
export async function featureUsage(
  folder: TaskFolder,
  feature: string,
): Promise<FeatureHistory['usage'] | undefined> {
  const report = await readReport(folder, feature).catch(() => undefined);
  return report?.history.usage;
}

/** The error for a feature without a report. */
export function notRunYet(feature: string): VolleyError {
  const message = `${feature} has not been run yet. Run it with volley tasks run ${feature}.`;
  return new VolleyError('INVALID_VALUE', message, { feature });
}
