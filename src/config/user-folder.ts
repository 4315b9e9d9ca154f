import { homedir } from 'node:os';
import { join } from 'node:path';

/** The user's own folder for Volley: approvals are kept here, out of reach of any workspace. */
export function userFolder(env: Readonly<Record<string, string | undefined>> = process.env): string {
  if (process.platform === 'win32' && env['APPDATA']) return join(env['APPDATA'], 'volley');
  return join(env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config'), 'volley');
}
