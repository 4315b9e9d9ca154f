import { cp, lstat, symlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { AgentTask } from './adapter.ts';

export function userHomePath(env: AgentTask['env'], ...path: string[]): string {
  return join(env['HOME'] || homedir(), ...path);
}

/**
 * Links the user's files into an agent's private folder. Links, not copies, so that a renewed token is renewed for the
 * user too.
 */
export async function linkUserFiles(folder: string, from: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const source = join(from, name);
    if (!(await exists(source))) continue;
    // Windows does not let everyone create links.
    await symlink(source, join(folder, name)).catch(() =>
      cp(source, join(folder, name), { recursive: true, errorOnExist: false }),
    );
  }
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** An agent may always report completion, whatever else it may run. */
const OWN_COMMANDS = ['volley tasks complete', 'npx volley tasks complete', 'npx --no volley tasks complete'];

export function withVolleyCommands(allowed: readonly string[]): readonly string[] {
  return [...allowed, ...OWN_COMMANDS];
}
