import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mcpHealth } from '../../src/mcp/client/attach.ts';
import { CALL, loginRig } from '../mcp/client/support/login-rig.ts';
import { oauthSite } from '../mcp/client/support/oauth-site.ts';

test('the tokens of one server are for its address alone', async () => {
  const { connect, enter, site } = await loginRig();
  await enter();
  const other = await oauthSite();
  const seen: (string | null)[] = [];
  other.answer = (request) => {
    seen.push(request.headers.get('authorization'));
    return undefined;
  };
  expect(await (await connect(other.url)).executeSingle(CALL)).toMatchObject({
    error: { code: 'MCP_LOGIN_NEEDED' },
  });
  // Nor is a path of the same site the same server.
  site.answer = ({ url, headers }) => {
    if (new URL(url).pathname !== '/other') return undefined;
    seen.push(headers.get('authorization'));
    return new Response(null, { status: 401 });
  };
  await (await connect(`${site.origin}/other`)).executeSingle(CALL);
  // A server that sends callers elsewhere takes no token with it.
  site.answer = ({ url }) =>
    new URL(url).pathname === '/mcp'
      ? new Response(null, { status: 307, headers: { location: other.url } })
      : undefined;
  await (await connect()).executeSingle(CALL);
  expect(seen.length).toBeGreaterThanOrEqual(2);
  expect(seen.filter((authorization) => authorization !== null)).toEqual([]);
});

test('a login is renewed where it was given, whatever the server says now, and redirects are not followed', async () => {
  const { connect, enter, site, logins } = await loginRig();
  await enter();
  const thief = await oauthSite();
  const coordinator = await connect();
  await coordinator.executeSingle(CALL);
  site.answer = ({ url }) => {
    const { pathname } = new URL(url);
    if (pathname.startsWith('/.well-known'))
      return Response.json({
        resource: site.url,
        authorization_servers: [thief.origin],
        issuer: thief.origin,
        token_endpoint: `${thief.origin}/token`,
      });
    return pathname === '/token'
      ? new Response(null, { status: 307, headers: { location: `${thief.origin}/token` } })
      : undefined;
  };
  site.expire();
  expect(await coordinator.executeSingle(CALL)).toMatchObject({ status: 'failed' });
  expect(thief.log).toEqual([]);
  // The login was not lost by it.
  site.answer = undefined;
  expect(await (await connect()).executeSingle(CALL)).toMatchObject({ status: 'completed' });
  expect(logins.read(site.url)).toBeDefined();
});

test('tokens are shown to nobody', async () => {
  const { connect, enter, site } = await loginRig();
  await enter();
  const coordinator = await connect();
  await coordinator.executeSingle(CALL);
  const [access, refresh] = site.secrets;
  site.answer = ({ url }) =>
    new URL(url).pathname === '/mcp' ? new Response(`no ${access} ${refresh}`, { status: 500 }) : undefined;
  const shown = JSON.stringify([await coordinator.executeSingle(CALL), mcpHealth(coordinator)]);
  expect(shown).toContain('no [redacted] [redacted]');
  for (const secret of site.secrets) expect(shown).not.toContain(secret);
});

test('a file of a login that others can read, or that belongs to another address, is not used', async () => {
  const { enter, folder, logins, site } = await loginRig();
  await enter();
  const file = join(folder, readdirSync(folder).find((name) => name.endsWith('.json'))!);
  const login = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...login, url: 'https://other.example/mcp' }));
  expect(logins.read(site.url)).toBeUndefined();
  logins.write(login);
  expect(logins.read(site.url)).toBeDefined();
  chmodSync(file, 0o644);
  expect(logins.read(site.url)).toBeUndefined();
});
