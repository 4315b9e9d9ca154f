import { cp, lstat, symlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { AgentTask } from './adapter.ts';

/** A folder in the home of the user that an agent starts for. */
export function userHomePath(env: AgentTask['env'], ...path: string[]): string {
  return join(env['HOME'] || homedir(), ...path);
}

/**
 * Makes what the user has by these names part of a folder of its own. They are links: a token that an agent renews is
 * renewed for the user too, where a copy would go out of date with it.
 */
export async function linkUserFiles(folder: string, from: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const source = join(from, name);
    if (!(await exists(source))) continue;
    // Windows lets not everyone link files.
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

/** An agent may always tell that it is done, whatever else it may run. */
const OWN_COMMANDS = ['volley tasks complete', 'npx volley tasks complete', 'npx --no volley tasks complete'];

export function withVolleyCommands(allowed: readonly string[]): readonly string[] {
  return [...allowed, ...OWN_COMMANDS];
}
