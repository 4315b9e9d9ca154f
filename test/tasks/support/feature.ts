import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { TrustStore } from '../../../src/config/trust-store.ts';
import type { Feature } from '../../../src/tasks/files/feature.ts';
import { parseFeature } from '../../../src/tasks/files/parse-feature.ts';
import type { Moment } from '../../../src/tasks/files/readiness.ts';
import { TaskFolder } from '../../../src/tasks/files/task-folder.ts';
import { trustFeature } from '../../../src/tasks/verify/trust.ts';

type Fields = Readonly<Record<string, unknown>>;

export const NOW = Date.parse('2026-02-03T10:00:00Z');

/** A moment at which no process is known to be gone. */
export function at(now = NOW, gone: readonly number[] = []): Moment {
  return { now, isGone: ({ pid }) => gone.includes(pid) };
}

/** The texts of a feature's files: subtasks by number, with what they say besides. */
export function texts(subtasks: Readonly<Record<string, Fields>>, task: Fields = {}): Map<string, string> {
  const all = Object.entries(subtasks).map(([seq, fields]): [string, string] => [
    `subtask_${seq}.json`,
    JSON.stringify({ title: `Do ${seq}`, parallel: true, ...fields }, null, 2),
  ]);
  return new Map([...all, ['task.json', JSON.stringify({ id: 'auth', name: 'Sign in', ...task }, null, 2)]]);
}

export function feature(subtasks: Readonly<Record<string, Fields>>, task: Fields = {}): Feature {
  return parseFeature('auth', texts(subtasks, task));
}

/** A folder that is gone after the test, with these files. */
export function project(files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'volley-tasks-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) put(folder, name, text);
  return folder;
}

/** The same with the feature `auth` in it. */
export function projectWith(subtasks: Readonly<Record<string, Fields>>, task: Fields = {}): string {
  const files = [...texts(subtasks, task)].map(([name, text]) => [`.tmp/tasks/auth/${name}`, text]);
  const folder = project(Object.fromEntries(files));
  trust(folder, feature(subtasks, task));
  return folder;
}

/** Approves the verification commands of a feature, as the user would. */
export function trust(folder: string, made: Feature): void {
  trustFeature(new TaskFolder(folder), made, new TrustStore(process.env));
}

export function put(folder: string, name: string, text: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
}

export function readJson(folder: string, name: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(folder, '.tmp/tasks', name), 'utf8'));
}
