import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ToolContext } from '../../../../src/runners/runner.ts';
import type {
  FileSettings,
  HttpSettings,
  ToolEnvironment,
} from '../../../../src/tools/builtin/environment.ts';
import type { Tool } from '../../../../src/tools/tool.ts';

/** A new folder that is gone after the test. */
export function folder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'volley-test-')));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** An environment with generous limits; `shell` is not needed by what is tested with it. */
export function environment(
  roots: readonly string[],
  settings: { files?: Partial<FileSettings>; http?: Partial<HttpSettings> } = {},
): ToolEnvironment {
  return {
    roots,
    files: { maxBytes: 1_000_000, maxEntries: 1000, ...settings.files },
    http: {
      enabled: true,
      allowPrivate: true,
      allowHosts: ['*'],
      maxBytes: 1_000_000,
      maxRedirects: 3,
      timeoutMs: 15_000,
      ...settings.http,
    },
    shell: {
      enabled: false,
      shell: ['/bin/sh', '-c'],
      env: [],
      limits: {},
      sandbox: { mode: 'off', read: [], write: [], network: false },
      launcher: () => {
        throw new Error('These tools start no process.');
      },
      confinement: () => {
        throw new Error('These tools start no process.');
      },
    },
  };
}

function context(signal = new AbortController().signal): ToolContext {
  return { id: 'test', attempt: 1, signal, report: () => {}, log: () => {} };
}

/** Calls a tool as the coordinator does: the arguments are checked first. */
export async function call<I, O>(tool: Tool<I, O>, input: unknown, signal?: AbortSignal): Promise<O> {
  const checked = await tool.input.check(input);
  if (!checked.ok) {
    throw new Error(checked.issues.map(({ path, rule }) => `INVALID_ARGUMENTS ${path} ${rule}`).join('; '));
  }
  return tool.run!(checked.value, context(signal));
}

/** What the engine and a caller see of a refusal. */
export const REFUSED_PATH = { code: 'PATH_NOT_ALLOWED', retryable: false };
