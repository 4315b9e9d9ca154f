import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { commandOf, trustedIn } from '../shared/volley.mjs';

/** The folder in which all servers work. */
export const OUT = fileURLToPath(new URL('./out/', import.meta.url));

const own = (name) => fileURLToPath(new URL(name, import.meta.url));
const FILES = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-filesystem/dist/index.js');

export const COMMANDS = {
  files: [process.execPath, FILES, '.'],
  records: [process.execPath, own('./records-server.mjs')],
  code: [process.execPath, own('./code-mode.mjs')],
};

/** Starts a server and connects to it. */
export function connect(name) {
  const [command, ...args] = COMMANDS[name];
  return connected({ command, args, cwd: OUT });
}

/** Starts the MCP server of Volley with a profile of tools. */
export function connectVolley(profile) {
  return connected({ ...commandOf(['mcp', '--profile', profile]), cwd: OUT, env: trustedIn(OUT) });
}

async function connected(command) {
  const client = new Client({ name: 'example', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ ...command, stderr: 'ignore' }));
  return client;
}
