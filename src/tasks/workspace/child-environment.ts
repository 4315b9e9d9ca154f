import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TRUST_VARIABLE } from '../../config/user-folder.ts';
import { shellQuote } from '../../core/shell-quote.ts';

/**
 * What ties git to one repository, as `git rev-parse --local-env-vars` has it; what is set besides where git receives a
 * push; and how the git that was called shall read paths, which many editors have it take by the letter. Settings are left
 * (`GIT_CONFIG_COUNT`, `GIT_CONFIG_PARAMETERS`): git itself hands them on to other repositories.
 */
const OF_ANOTHER_GIT = new Set([
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
 * The environment for whatever is started in a workspace: git, agents, set-ups and checks. Git sets the above for its
 * hooks; whoever starts Volley from one would have them work on the repository of the hook, wherever they stand.
 */
export function childEnvironment(
  given: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const entries = Object.entries(given).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !OF_ANOTHER_GIT.has(entry[0]) && entry[0] !== TRUST_VARIABLE,
  );
  return Object.fromEntries(entries);
}

const PROGRAM = fileURLToPath(new URL('../../cli/main.js', import.meta.url));

/**
 * What agents start with: the user's environment, and this very program as `volley`, wherever they work and whatever is
 * installed there.
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
