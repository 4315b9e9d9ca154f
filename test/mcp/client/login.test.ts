import { readdirSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { COMMANDS } from '../../../src/cli/commands/all.ts';
import type { Io } from '../../../src/cli/output/io.ts';
import { runProgram } from '../../../src/cli/program/program.ts';
import { mcpHealth } from '../../../src/mcp/client/attach.ts';
import { logIn } from '../../../src/mcp/client/login-flow.ts';
import { LoginStore } from '../../../src/mcp/client/logins.ts';
import { folderWith, outputTo, say } from '../../cli/support/program.ts';
import { trustFolder } from '../../support/trust.ts';
import { CALL, loginRig, NEVER } from './support/login-rig.ts';
import { agree, type OAuthSite } from './support/oauth-site.ts';

test('a server that wants a login is named, with the command that logs in', async () => {
  const { connect, env, site } = await loginRig();
  const coordinator = await connect();
  for (const _ of ['first', 'while the server is left alone']) {
    expect(await coordinator.executeSingle(CALL)).toMatchObject({
      status: 'failed',
      attempts: 1,
      error: { code: 'MCP_LOGIN_NEEDED', message: expect.stringContaining('volley mcp login tickets') },
    });
  }
  expect(mcpHealth(coordinator)).toMatchObject([{ name: 'tickets', needsLogin: true }]);
  const folder = folderWith({ 'volley.toml': `[mcp.servers.tickets]\nurl = ${JSON.stringify(site.url)}\n` });
  await trustFolder(folder);
  const home = { XDG_CONFIG_HOME: process.env['XDG_CONFIG_HOME']! };
  const tools = await say(folder, ['tools', 'tickets.*'], '', undefined, home);
  expect(tools.stderr).toContain('MCP server tickets: needs a login. Run: volley mcp login tickets\n');
  const doctor = await say(folder, ['doctor', '--json'], '', undefined, home);
  expect(JSON.parse(doctor.stdout).mcp_servers).toEqual([{ name: 'tickets', state: 'login_needed' }]);
  expect(env.XDG_CONFIG_HOME).not.toBe(home.XDG_CONFIG_HOME);
});

test('after a login, which is private to the user, calls work, and after a logout they do not', async () => {
  const { connect, enter, folder, logins, site } = await loginRig();
  await enter();
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
  expect(files).toHaveLength(1);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder, files[0]!)).mode & 0o777).toBe(0o600);
  const coordinator = await connect();
  expect(await coordinator.executeSingle(CALL)).toMatchObject({ status: 'completed', value: { text: '3' } });
  expect(logins.remove(site.url)).toBe(true);
  expect(await coordinator.executeSingle(CALL)).toMatchObject({ error: { code: 'MCP_LOGIN_NEEDED' } });
  expect(logins.remove(site.url)).toBe(false);
});

test('a login is renewed when its token ends, once for all calls that wait', async () => {
  const { connect, enter, site, logins } = await loginRig();
  await enter();
  const coordinator = await connect();
  await coordinator.executeSingle(CALL);
  const before = logins.read(site.url)!.tokens;
  site.expire();
  const results = await coordinator.executeParallel(Array.from({ length: 10 }, () => CALL));
  expect(results.map(({ status }) => status)).toEqual(results.map(() => 'completed'));
  expect(site.log.filter((line) => line.startsWith('POST /token'))).toEqual(['POST /token refresh_token']);
  const after = logins.read(site.url)!.tokens;
  expect(after.access_token).not.toBe(before.access_token);
  expect(after.refresh_token).not.toBe(before.refresh_token);
});

test('a token that is about to end is renewed before it is used, by one of two processes', async () => {
  const { connect, enter, site, logins } = await loginRig();
  site.expiresIn = 1;
  await enter();
  site.expiresIn = 3600;
  const coordinators = [await connect(), await connect()];
  const results = await Promise.all(coordinators.map((coordinator) => coordinator.executeSingle(CALL)));
  expect(results).toMatchObject([{ status: 'completed' }, { status: 'completed' }]);
  expect(site.log.filter((line) => line.startsWith('POST /token'))).toHaveLength(1);
  expect(logins.read(site.url)!.expiresAt).toBeGreaterThan(Date.now() + 3_000_000);
});

test('a login that can be renewed no more asks for a new one', async () => {
  const { connect, enter, site } = await loginRig();
  await enter();
  const coordinator = await connect();
  await coordinator.executeSingle(CALL);
  site.revoke();
  expect(await coordinator.executeSingle(CALL)).toMatchObject({
    status: 'failed',
    error: { code: 'MCP_LOGIN_NEEDED', message: expect.stringContaining('has expired') },
  });
  await enter();
  expect(await coordinator.executeSingle(CALL)).toMatchObject({ status: 'completed' });
});

test('a header that says who calls is used instead of a login', async () => {
  const { connect, enter, site } = await loginRig();
  await enter();
  const coordinator = await connect(site.url, { Authorization: 'Bearer mine' });
  const result = await coordinator.executeSingle(CALL);
  expect(result).toMatchObject({ status: 'failed', error: { code: 'MCP_SERVER_FAILED' } });
});

/** Runs `volley mcp login tickets`, and does something with the address that it prints. */
async function runLogin(site: OAuthSite, home: string, visit: (address: string) => Promise<unknown>) {
  const folder = folderWith({ 'volley.toml': `[mcp.servers.tickets]\nurl = ${JSON.stringify(site.url)}\n` });
  await trustFolder(folder);
  const streams = { stdout: new PassThrough(), stderr: new PassThrough() };
  let [said, out] = ['', ''];
  const visits: Promise<unknown>[] = [];
  streams.stdout.on('data', (piece) => {
    out += piece;
  });
  streams.stderr.on('data', (piece) => {
    said += piece;
    const [address] = /^http:.*$/m.exec(said) ?? [];
    if (address !== undefined && visits.length === 0) visits.push(visit(address));
  });
  const io = {
    stdout: outputTo(streams.stdout),
    stderr: outputTo(streams.stderr),
    stdin: Readable.from(['']),
    env: { NO_COLOR: '1', XDG_CONFIG_HOME: home },
    cwd: folder,
    outliveReader: () => undefined,
  } as unknown as Io;
  const run = (argv: string[]) => runProgram(argv, COMMANDS, '1.2.3', io);
  return { run, folder, said: () => said, out: () => out, visits };
}

test('volley mcp login prints the page, takes only the answer to this login, and keeps it', async () => {
  const { site, logins } = await loginRig();
  const home = process.env['XDG_CONFIG_HOME']!;
  const mine = new LoginStore({ XDG_CONFIG_HOME: home });
  onTestFinished(() => void mine.remove(site.url));
  const answers: { status: number }[] = [];
  const { run, said, out, visits } = await runLogin(site, home, async (address) => {
    const callback = new URL(address).searchParams.get('redirect_uri')!;
    expect(callback).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    for (const bad of ['/', '/callback', '/callback?code=x', '/callback?code=x&state=guess'])
      answers.push(await agree(new URL(bad, callback).href));
    answers.push(await agree(address));
  });
  expect(await run(['mcp', 'login', 'tickets'])).toBe(0);
  await Promise.all(visits);
  expect(answers.map(({ status }) => status)).toEqual([404, 400, 400, 400, 200]);
  expect(out()).toContain('Logged in to tickets');
  expect(mine.read(site.url)).toBeDefined();
  expect(logins.read(site.url)).toBeUndefined();
  for (const secret of site.secrets) expect(said() + out()).not.toContain(secret);
  expect(await run(['mcp', 'logout', 'tickets'])).toBe(0);
  expect(mine.read(site.url)).toBeUndefined();
});

test('a login that the user refuses, or that a server cannot give, says why', async () => {
  const { site } = await loginRig();
  const server = { name: 'tickets', url: site.url, headers: {} };
  const refuse = async (address: string) => {
    const { searchParams } = new URL(address);
    const back = new URL(searchParams.get('redirect_uri')!);
    back.search = new URLSearchParams({
      error: 'access_denied',
      error_description: 'You said no',
      state: searchParams.get('state')!,
    }).toString();
    await agree(back.href);
  };
  await expect(logIn(server, (address) => void refuse(address), NEVER)).rejects.toMatchObject({
    code: 'MCP_LOGIN_FAILED',
    message: expect.stringContaining('You said no'),
  });
  const failing = { code: 'MCP_LOGIN_FAILED' };
  site.answer = ({ url }) => (new URL(url).pathname === '/mcp' ? new Response('{}') : undefined);
  await expect(logIn(server, () => {}, NEVER)).rejects.toMatchObject(failing);
  site.answer = ({ url }) =>
    new URL(url).pathname === '/register' ? new Response('no', { status: 403 }) : undefined;
  await expect(logIn(server, () => {}, NEVER)).rejects.toMatchObject(failing);
  const remote = { ...server, url: 'http://tools.example.org/mcp' };
  await expect(logIn(remote, () => {}, NEVER)).rejects.toMatchObject({
    ...failing,
    message: expect.stringContaining('https'),
  });
});

test('a login that nobody waits for any more leaves no port open', async () => {
  const { site } = await loginRig();
  const stop = new AbortController();
  const reason = new Error('enough');
  let callback = '';
  const login = logIn(
    { name: 'tickets', url: site.url, headers: {} },
    (address) => {
      callback = new URL(address).searchParams.get('redirect_uri')!;
      stop.abort(reason);
    },
    stop.signal,
  );
  await expect(login).rejects.toBe(reason);
  await expect(fetch(callback)).rejects.toThrow();
});

test.each([['login'], ['logout']])('volley mcp %s names what it can do', async (action) => {
  const folder = folderWith({
    'volley.toml': `[mcp.servers.here]\ncommand = "x"\n[mcp.servers.there]\nurl = "https://tools.example.org/mcp"\n[mcp.servers.token.headers]\nAuthorization = "Bearer x"\n[mcp.servers.token]\nurl = "https://tools.example.org/mcp"\n`,
  });
  const told = async (...args: string[]) =>
    JSON.parse((await say(folder, ['mcp', action, ...args, '--json'])).stdout);
  for (const args of [[], ['ther'], ['here'], ['token']])
    expect(await told(...args)).toMatchObject({ ok: false, error: { code: 'INVALID_VALUE' } });
});

test('a port of this machine is not reached for a server elsewhere', async () => {
  const { loginFetch } = await import('../../../src/mcp/client/login-fetch.ts');
  let requests = 0;
  const local = createServer((_, response) => {
    requests++;
    response.end();
  });
  await new Promise<void>((resolve) => local.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void local.close());
  const { port } = local.address() as AddressInfo;
  const fetchFor = loginFetch('https://tools.example.org/mcp', NEVER);
  for (const url of [`http://127.0.0.1:${port}/`, `http://localhost:${port}/`, `https://[::1]:${port}/`])
    await expect(async () => fetchFor(url)).rejects.toThrow('on this machine');
  expect(requests).toBe(0);
});
