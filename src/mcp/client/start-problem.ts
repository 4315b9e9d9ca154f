import { statSync } from 'node:fs';
import type { McpServerSettings } from '../../config/config.ts';
import { problemText } from './call-failure.ts';

/** Why a server could not be started or reached, for people: where the configuration is to blame, which line of it. */
export function startProblem(error: unknown, name: string, { connection }: McpServerSettings): string {
  if (connection.kind === 'http' || !isSpawnFailure(error)) return problemText(error);
  const table = `[mcp.servers.${name}] of volley.toml`;
  const { command, cwd } = connection;
  // The system says the same of a folder that is not there.
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
    return `there is no folder ${cwd} to start it in: make it, or correct cwd under ${table}`;
  const shown = JSON.stringify(command);
  if (error.code === 'EACCES')
    return `the program ${shown} may not be run: make it executable, or correct command under ${table}`;
  return `the program ${shown} was not found: install it, or correct command under ${table}`;
}

function isSpawnFailure(error: unknown): error is NodeJS.ErrnoException {
  if (!(error instanceof Error)) return false;
  const { code, syscall } = error as NodeJS.ErrnoException;
  return syscall?.startsWith('spawn') === true && (code === 'ENOENT' || code === 'EACCES');
}
