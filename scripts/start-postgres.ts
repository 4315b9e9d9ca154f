import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** PostgreSQL refuses to run as root: then it runs as this one. */
const UNPRIVILEGED = 'nobody';
const LONGEST_START_MS = 60_000;
/** Where Debian has the programs of a server, which are not on the path. */
const DEBIAN = '/usr/lib/postgresql';
const USER = 'volley';

/** A PostgreSQL server of its own behind a socket file. */
export interface OwnPostgres {
  /** Its folder, where the socket is. */
  readonly folder: string;
  readonly user: string;
  /** The address of its database. */
  readonly address: string;
  /** Kills it without a word. Its data stays. */
  kill(): Promise<void>;
  /** Starts it again with the same data. */
  start(): Promise<void>;
  /** Stops it in order: connections are ended. */
  stop(): Promise<void>;
  /** Stops it, and removes its data. */
  remove(): Promise<void>;
}

/**
 * Starts a server with its default settings, in which each commit reaches the disk, and those that are given. With
 * `staysOn` it outlives this process.
 */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
  { folder = mkdtempSync(join(tmpdir(), 'volley-pg-')), staysOn = false } = {},
): Promise<OwnPostgres> {
  const data = join(folder, 'data');
  const asUser = unprivileged();
  if (asUser !== undefined) chownSync(folder, asUser.uid, asUser.gid);
  // Whoever runs the tests connects to the socket.
  chmodSync(folder, 0o711);
  const options = { ...asUser, stdio: 'ignore', cwd: folder, detached: staysOn } as const;
  const login = ['-U', USER, '--auth=trust', '--encoding=UTF8', '--locale=C.UTF-8', '--no-sync'];
  execFileSync(postgresProgram('initdb'), ['-D', data, ...login], options);
  let server: ChildProcess | undefined;
  const start = async () => {
    const given = Object.entries({ listen_addresses: '', unix_socket_directories: folder, ...settings });
    const args = given.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    server = spawn(postgresProgram('postgres'), ['-D', data, ...args], options);
    if (staysOn) server.unref();
    await untilReady(join(folder, '.s.PGSQL.5432'));
  };
  const end = async (signal: NodeJS.Signals) => {
    const ending = server;
    server = undefined;
    if (ending === undefined || ending.exitCode !== null) return;
    const ended = once(ending, 'exit');
    ending.kill(signal);
    await ended;
  };
  await start();
  return {
    folder,
    user: USER,
    address: `postgres:///postgres?host=${folder}&user=${USER}`,
    start,
    kill: () => end('SIGQUIT'),
    stop: () => end('SIGINT'),
    remove: async () => {
      await end('SIGQUIT');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The path of a program of the server, or its name where it is on the path. */
export function postgresProgram(name: string): string {
  if (!existsSync(DEBIAN)) return name;
  const versions = readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a));
  const paths = versions.map((version) => join(DEBIAN, version, 'bin', name));
  return paths.find((path) => existsSync(path)) ?? name;
}

/** It answers as soon as it takes connections. */
async function untilReady(socket: string): Promise<void> {
  for (const start = performance.now(); ; await sleep(20)) {
    if (await answers(socket)) return;
    if (performance.now() - start > LONGEST_START_MS) throw new Error('PostgreSQL did not start.');
  }
}

/** Asks for a cancelled connection: the server answers a startup packet with an error or a request for a login. */
async function answers(socket: string): Promise<boolean> {
  if (!existsSync(socket)) return false;
  const connection = createConnection(socket);
  try {
    const text = Buffer.from(`user\0${USER}\0database\0postgres\0\0`);
    const head = Buffer.alloc(8);
    head.writeInt32BE(text.length + 8);
    head.writeInt32BE(196_608, 4);
    connection.write(Buffer.concat([head, text]));
    const [answer] = (await once(connection, 'data')) as [Buffer];
    return answer[0] === 'R'.charCodeAt(0);
  } catch {
    return false;
  } finally {
    connection.destroy();
  }
}

function unprivileged(): { readonly uid: number; readonly gid: number } | undefined {
  if (userInfo().uid !== 0) return undefined;
  const idOf = (flag: string) => Number(execFileSync('id', [flag, UNPRIVILEGED], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}
