import { spawn } from 'node:child_process';
import type { VolleyConfig } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import { trustText } from '../../config/trust.ts';
import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import type { LoginServer } from '../../mcp/client/login-flow.ts';
import { EXIT, type ExitStatus, type Io } from '../output/io.ts';
import { usageError } from '../output/messages.ts';
import type { CommonOptions } from '../program/command.ts';
import { onStopSignals } from '../program/stop-signals.ts';

/** Logs in at an MCP server, on a page that the user opens. */
export async function logInAtServer(
  name: string | undefined,
  { config: file, json = false }: CommonOptions,
  io: Io,
): Promise<ExitStatus> {
  const server = await loginServer(name, file, io);
  const { logIn } = await import('../../mcp/client/login-flow.ts');
  const { LoginStore } = await import('../../mcp/client/logins.ts');
  const stop = new AbortController();
  const forget = onStopSignals(() => stop.abort(new Error('interrupted')));
  try {
    const login = await logIn(server, (address) => announce(address, json, io), stop.signal);
    new LoginStore(io.env).write(login);
  } catch (error) {
    if (stop.signal.aborted) return EXIT.interrupted;
    throw error;
  } finally {
    forget();
  }
  if (json) io.stdout.writeJson({ ok: true, server: server.name, url: server.url });
  else
    io.stdout.write(
      `Logged in to ${server.name} (${server.url}). Its tools: volley tools '${server.name}.*'\n`,
    );
  return EXIT.ok;
}

/** Forgets the login at an MCP server. */
export async function logOutFromServer(
  name: string | undefined,
  { config: file, json = false }: CommonOptions,
  io: Io,
): Promise<ExitStatus> {
  const server = await loginServer(name, file, io);
  const { LoginStore } = await import('../../mcp/client/logins.ts');
  const hadOne = new LoginStore(io.env).remove(server.url);
  if (json) io.stdout.writeJson({ ok: true, server: server.name, url: server.url, removed: hadOne });
  else
    io.stdout.write(
      hadOne ? `Logged out of ${server.name}.\n` : `You were not logged in to ${server.name}.\n`,
    );
  return EXIT.ok;
}

async function loginServer(name: string | undefined, file: string | undefined, io: Io): Promise<LoginServer> {
  const { cwd, env } = io;
  const { config } = await loadConfig({ cwd, env, ...(file !== undefined && { file }) });
  const { resolveValues, namesCaller } = await import('../../mcp/client/server-source.ts');
  const { connection } = serverOf(name, config);
  if (connection.kind === 'stdio')
    throw usageError(`${name} is a program on this machine, so it needs no login.`);
  if (namesCaller(connection.headers))
    throw usageError(
      `mcp.servers.${name}.headers has an Authorization header, which is sent instead of a login. Remove it to log in.`,
    );
  const { values } = resolveValues(connection.headers, env, `mcp.servers.${name}.headers`);
  return { name: name!, url: connection.url, headers: values };
}

function serverOf(name: string | undefined, { mcp, trust }: VolleyConfig) {
  const { servers } = mcp;
  if (name !== undefined && Object.hasOwn(servers, name)) return servers[name]!;
  const waiting = trust.waiting.filter((setting) => setting.startsWith('mcp.'));
  if (waiting.length > 0) throw new VolleyError('NOT_TRUSTED', trustText(trust, waiting));
  const names = Object.entries(servers).flatMap(([one, { connection }]) =>
    connection.kind === 'http' ? [one] : [],
  );
  const close = name === undefined ? undefined : nearest(name, names);
  const hint =
    close !== undefined
      ? `Did you mean ${close}?`
      : names.length === 0
        ? 'volley.toml has no server with a url.'
        : `Servers with a url: ${names.join(', ')}.`;
  throw usageError(
    name === undefined ? `Name a server. ${hint}` : `There is no MCP server ${JSON.stringify(name)}. ${hint}`,
  );
}

/** Shows the address. Only somebody at a terminal gets a browser opened. */
function announce(address: string, json: boolean, io: Io): void {
  const isAttended = io.stdin.isTTY === true && io.stdout.isTTY && !json;
  const verb = isAttended
    ? 'This page opens in your browser. If it does not, open it yourself'
    : 'Open this page in a browser on this machine';
  io.stderr.write(`${verb}:\n${address}\nWaiting for your approval there. Press Ctrl-C to cancel.\n`);
  if (isAttended) openBrowser(address);
}

/** Without a shell: the address comes from a stranger. */
function openBrowser(address: string): void {
  const [command, ...args] =
    process.platform === 'darwin'
      ? ['open', address]
      : process.platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler', address]
        : ['xdg-open', address];
  // The user has the address in any case.
  spawn(command!, args, { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref();
}
