import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TRUST_VARIABLE } from '../../config/user-folder.ts';
import { shellQuote } from '../../core/shell-quote.ts';

/**
 * Variables that tie git to one repository (`git rev-parse --local-env-vars`), that a push sets, or that change how paths
 * are read. Settings (`GIT_CONFIG_COUNT`, `GIT_CONFIG_PARAMETERS`) stay: git itself passes them on to other repositories.
 */
const REPOSITORY_VARIABLES = new Set([
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GIT_COMMON_DIR',
  'GIT_CONFIG',
  'GIT_DIR',
  'GIT_GLOB_PATHSPECS',
  'GIT_GRAFT_FILE',
  'GIT_ICASE_PATHSPECS',
  'GIT_IMPLICIT_WORK_TREE',
  'GIT_INDEX_FILE',
  'GIT_INTERNAL_SUPER_PREFIX',
  'GIT_LITERAL_PATHSPECS',
  'GIT_NAMESPACE',
  'GIT_NOGLOB_PATHSPECS',
  'GIT_NO_REPLACE_OBJECTS',
  'GIT_OBJECT_DIRECTORY',
  'GIT_PREFIX',
  'GIT_QUARANTINE_PATH',
  'GIT_REPLACE_REF_BASE',
  'GIT_SHALLOW_FILE',
  'GIT_WORK_TREE',
]);

/**
 * The environment of programs that run in a workspace: git, agents, setup commands and checks. Git sets the variables
 * above for its hooks; if Volley is started by a hook, they would redirect these programs to the hook's repository.
 */
export function childEnvironment(
  given: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const entries = Object.entries(given).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !REPOSITORY_VARIABLES.has(entry[0]) && entry[0] !== TRUST_VARIABLE,
  );
  return Object.fromEntries(entries);
}

const PROGRAM = fileURLToPath(new URL('../../cli/main.js', import.meta.url));

/**
 * The environment of agents: the user's, with this very program as `volley`, whatever else is installed.
 */
export async function agentEnvironment(
  given: Readonly<Record<string, string | undefined>>,
  scratch: string,
): Promise<Readonly<Record<string, string>>> {
  const env = childEnvironment(given);
  if (!existsSync(PROGRAM)) return env;
  const folder = join(scratch, 'bin');
  await mkdir(folder);
  const text = `#!/bin/sh\nexec ${shellQuote(process.execPath)} ${shellQuote(PROGRAM)} "$@"\n`;
  await writeFile(join(folder, 'volley'), text, { mode: 0o755 });
  return { ...env, PATH: [folder, env['PATH']].filter(Boolean).join(delimiter) };
}
