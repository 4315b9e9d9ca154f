import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { temporaryFolder } from './folder.ts';
import { untilReady } from './until-ready.ts';

/** PostgreSQL refuses to run as root: then it runs as this one. */
const UNPRIVILEGED = 'nobody';

/** A PostgreSQL of its own behind a socket file, with its default settings: each commit reaches the disk. */
export async function startPostgres(): Promise<{ folder: string; user: string; stop(): Promise<void> }> {
  const folder = temporaryFolder();
  const data = join(folder.path, 'data');
  const asUser = unprivileged();
  if (asUser !== undefined) chownSync(folder.path, asUser.uid, asUser.gid);
  const options = { ...asUser, stdio: 'ignore', cwd: folder.path } as const;
  execFileSync('initdb', ['-D', data, '-U', 'bench', '--auth=trust', '--encoding=UTF8'], options);
  const server = spawn('postgres', ['-D', data, '-c', 'listen_addresses=', '-k', folder.path], options);
  const ended = once(server, 'exit');
  await untilReady(async () => {
    if (!existsSync(join(folder.path, '.s.PGSQL.5432'))) throw new Error('PostgreSQL did not start.');
  });
  return {
    folder: folder.path,
    user: 'bench',
    async stop() {
      server.kill('SIGINT');
      await ended;
      folder.remove();
    },
  };
}

function unprivileged(): { readonly uid: number; readonly gid: number } | undefined {
  if (userInfo().uid !== 0) return undefined;
  const idOf = (flag: string) => Number(execFileSync('id', [flag, UNPRIVILEGED], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}
