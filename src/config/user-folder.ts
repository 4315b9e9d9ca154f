import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** The variable with a hash that is trusted without an approval, for CI. Children of Volley do not get it. */
export const TRUST_VARIABLE = 'VOLLEY_TRUST';

/** The variable with the secret that the machines of a cluster share. */
export const CLUSTER_KEY_VARIABLE = 'VOLLEY_CLUSTER_KEY';

/** Volley's folder in the user's configuration. Holds the approvals and logins, out of reach of any workspace. */
export function userFolder(env: Readonly<Record<string, string | undefined>> = process.env): string {
  if (process.platform === 'win32' && env['APPDATA']) return join(env['APPDATA'], 'volley');
  return join(
    absolute(env['XDG_CONFIG_HOME']) ?? join(absolute(env['HOME']) ?? homedir(), '.config'),
    'volley',
  );
}

/** A relative path would point into the current folder. */
function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined;
}
