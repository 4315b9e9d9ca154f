import { join } from 'node:path';
import { logIn } from '../../../../src/mcp/client/login-flow.ts';
import { LoginStore } from '../../../../src/mcp/client/logins.ts';
import { agree, type OAuthSite, oauthSite } from './oauth-site.ts';
import { httpServer, openWith, testFolder } from './open.ts';

export const NEVER = new AbortController().signal;
export const CALL = { name: 'tickets.count', arguments: {} };

/** A site, and a user who has a folder for the configuration. */
export async function loginRig() {
  const site = await oauthSite();
  const home = testFolder();
  const env = { ...process.env, XDG_CONFIG_HOME: home };
  const logins = new LoginStore(env);
  const enter = async (one: OAuthSite = site) => {
    const server = { name: 'tickets', url: one.url, headers: {} };
    logins.write(await logIn(server, (address) => void agree(address), NEVER));
    one.log.length = 0;
  };
  const connect = (url = site.url, headers: Record<string, string> = {}) =>
    openWith(home, { tickets: httpServer(url, headers) }, { env });
  const folder = join(home, 'volley/logins');
  return { site, home, env, logins, enter, connect, folder };
}
