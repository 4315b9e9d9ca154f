import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { startBuilt } from '../../e2e/support/built-volley.ts';

/** `volley serve` as a process of its own, which ends with the test. */
export interface BuiltServer {
  readonly url: string;
  readonly port: number;
  readonly token: string;
  readonly child: ChildProcess;
  /** Sends a request with the server's own token. */
  request(path: string, init?: RequestInit): Promise<Response>;
}

export async function serveBuilt(
  folder: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<BuiltServer> {
  const child = startBuilt(folder, ['serve', '--json', '--port', '0', ...args], { env });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const log: string[] = [];
  createInterface({ input: child.stderr! }).on('line', (line) => log.push(line));
  const lines = createInterface({ input: child.stdout! });
  const [line] = (await Promise.race([
    once(lines, 'line'),
    ended.then(() => {
      throw new Error(log.join('\n'));
    }),
  ])) as [string];
  const { address, port, record_file } = JSON.parse(line) as {
    address: string;
    port: number;
    record_file: string;
  };
  const { token } = JSON.parse(readFileSync(record_file, 'utf8')) as { token: string };
  const url = address.replace(/\/$/, '');
  return {
    url,
    port,
    token,
    child,
    request: (path, init = {}) =>
      fetch(`${url}${path}`, {
        ...init,
        headers: {
          authorization: `Bearer ${token}`,
          ...(init.body !== undefined && { 'content-type': 'application/json' }),
          ...init.headers,
        },
      }),
  };
}
