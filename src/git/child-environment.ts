import type { EnvironmentVariables } from '../config/environment.ts';
import { CLUSTER_KEY_VARIABLE, TRUST_VARIABLE } from '../config/user-folder.ts';

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

/** What would let a program approve folders, or speak for the machines of a cluster. */
const SECRETS = new Set([TRUST_VARIABLE, CLUSTER_KEY_VARIABLE]);

/**
 * The environment of programs that run in a workspace: git, agents, setup commands and checks. Git sets the variables
 * above for its hooks; if Volley is started by a hook, they would redirect these programs to the hook's repository.
 */
export function childEnvironment(given: EnvironmentVariables = process.env): Record<string, string> {
  const entries = Object.entries(given).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !REPOSITORY_VARIABLES.has(entry[0]) && !SECRETS.has(entry[0]),
  );
  return Object.fromEntries(entries);
}
