import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import {
  getDefaultEnvironment,
  StdioClientTransport,
  type StdioServerParameters,
} from '@modelcontextprotocol/client/stdio';

const DOWNSTREAM = fileURLToPath(new URL('./downstream-server.mjs', import.meta.url));
const VOLLEY = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** A server on the same SDK that has one tool and nothing else. */
export const DOWNSTREAM_PROGRAM: StdioServerParameters = { command: process.execPath, args: [DOWNSTREAM] };

export interface VolleyFolder {
  readonly program: StdioServerParameters;
  remove(): void;
}

/** `volley mcp` in a folder of its own, whose configuration has the other server. */
export function volleyProgram(): VolleyFolder {
  const folder = mkdtempSync(join(tmpdir(), 'volley-bench-'));
  const { command, args } = DOWNSTREAM_PROGRAM;
  const lines = [
    '[mcp.servers.down]',
    `command = ${JSON.stringify(command)}`,
    `args = ${JSON.stringify(args)}`,
    // By hand there is no limit either.
    'max_concurrent = 64',
  ];
  writeFileSync(join(folder, 'volley.toml'), lines.join('\n'));
  const hash = execFileSync(process.execPath, [VOLLEY, 'trust', '--print'], {
    cwd: folder,
    encoding: 'utf8',
  });
  const env = { ...getDefaultEnvironment(), VOLLEY_TRUST: hash.trim() };
  return {
    program: { command: process.execPath, args: [VOLLEY, 'mcp'], cwd: folder, env },
    remove: () => rmSync(folder, { recursive: true }),
  };
}

/** The official client, connected to a program over its pipes. */
export async function connect(program: StdioServerParameters): Promise<Client> {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ ...program, stderr: 'ignore' }));
  return client;
}
