import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { defaultConfig, type McpServerSettings, type VolleyConfig } from '../../../../src/config/config.ts';
import type { ParallelToolCoordinator } from '../../../../src/coordinator/coordinator.ts';
import { createFullCoordinator } from '../../../../src/mcp/open-coordinator.ts';

const NOTES_SERVER = fileURLToPath(new URL('./notes-server.mjs', import.meta.url));
const ODD_SERVER = fileURLToPath(new URL('./odd-server.mjs', import.meta.url));
const MEDIA_SERVER = fileURLToPath(new URL('./media-server.mjs', import.meta.url));

/** A folder that goes with the test. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'volley-mcp-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

type Changes = Partial<Omit<McpServerSettings, 'connection'>>;

/** Settings of the server of notes, with its file and its log in the folder. */
export function notesServer(
  folder: string,
  env: Record<string, string> = {},
  changes: Changes = {},
): McpServerSettings {
  return {
    ...serverWith(changes),
    connection: {
      kind: 'stdio',
      command: process.execPath,
      args: [NOTES_SERVER],
      cwd: folder,
      env: { NOTES_FILE: join(folder, 'notes.txt'), NOTES_LOG: join(folder, 'log.txt'), ...env },
    },
  };
}

/** Settings of the server of pictures, sound and files. */
export function mediaServer(folder: string): McpServerSettings {
  return programServer(MEDIA_SERVER, folder, {});
}

/** Settings of the server with odd names, schemas and tasks. Its log is in the folder. */
export function oddServer(folder: string, changes: Changes = {}): McpServerSettings {
  return programServer(ODD_SERVER, folder, changes, { ODD_LOG: join(folder, 'log.txt') });
}

function programServer(
  program: string,
  folder: string,
  changes: Changes,
  env: Record<string, string> = {},
): McpServerSettings {
  const { execPath: command } = process;
  return {
    ...serverWith(changes),
    connection: { kind: 'stdio', command, args: [program], cwd: folder, env },
  };
}

export function httpServer(
  url: string,
  headers: Record<string, string> = {},
  changes: Changes = {},
): McpServerSettings {
  return { ...serverWith(changes), connection: { kind: 'http', url, headers } };
}

function serverWith(changes: Changes): Omit<McpServerSettings, 'connection'> {
  return {
    roots: [],
    maxConcurrent: 64,
    ratePerMinute: undefined,
    startTimeoutMs: 120_000,
    callTimeoutMs: undefined,
    maxResultBytes: 1_048_576,
    allow: ['*'],
    deny: [],
    allowDestructive: [],
    parallel: 'read-only',
    tools: {},
    ...changes,
  };
}

/** A coordinator with these servers, closed with the test. */
export async function openWith(
  folder: string,
  servers: Record<string, McpServerSettings>,
  { env = process.env, ...more }: Partial<VolleyConfig> & { env?: NodeJS.ProcessEnv } = {},
): Promise<ParallelToolCoordinator> {
  const config = { ...defaultConfig(folder), ...more, mcp: { servers } };
  const coordinator = await createFullCoordinator(config, env);
  onTestFinished(() => coordinator.close({ cancel: true }));
  return coordinator;
}

/** The lines that the server of notes has written down. */
export function logOf(folder: string): string[] {
  try {
    return readFileSync(join(folder, 'log.txt'), 'utf8').trim().split('\n');
  } catch {
    return [];
  }
}
