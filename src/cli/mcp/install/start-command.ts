import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import type { InstallScope, StartCommand } from './clients.ts';

/** How a client starts Volley, and what a person should know about that. */
export interface Start {
  readonly start: StartCommand;
  readonly remark: string | undefined;
}

/**
 * A file of a project is shared: there npx finds what the project has installed, and never downloads anything. Where
 * the project has nothing installed, and for the user, it is this very program.
 */
export function startFor(scope: InstallScope, folder: string, program: string = process.argv[1]!): Start {
  if (scope === 'project' && isInstalledFor(folder))
    return { start: { command: 'npx', args: ['--no', 'volley', 'mcp'] }, remark: undefined };
  const path = realpathSync(program);
  return { start: { command: process.execPath, args: [path, 'mcp'] }, remark: remarkOn(scope, path) };
}

function remarkOn(scope: InstallScope, path: string): string | undefined {
  // What npx has downloaded goes when its cache is cleared.
  if (path.includes(`${sep}_npx${sep}`))
    return `The entry names ${path}, which npx keeps for a while only: install Volley (npm install ${scope === 'project' ? '--save-dev' : '--global'} volley) and do this again.`;
  if (scope === 'user') return undefined;
  return 'Volley is not installed in this project, so the entry names the program of this machine. If others share the file: npm install --save-dev volley, and do this again.';
}

/** Where npx looks: in the folder and in those above it. */
function isInstalledFor(folder: string): boolean {
  if (existsSync(join(folder, 'node_modules/.bin/volley'))) return true;
  const above = dirname(folder);
  return above !== folder && isInstalledFor(above);
}
