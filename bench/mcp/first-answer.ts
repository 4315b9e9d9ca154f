import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { StdioServerParameters } from '@modelcontextprotocol/client/stdio';

const REQUEST = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1.0.0' },
  },
};

/** How long a program takes from its start to its answer. */
export async function firstAnswerMs({ command, args = [], cwd }: StdioServerParameters): Promise<number> {
  const start = performance.now();
  const child = spawn(command, args, { cwd, stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdin.write(`${JSON.stringify(REQUEST)}\n`);
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
  const ms = performance.now() - start;
  if (!chunk.includes('"result"')) throw new Error(`It answered: ${chunk.toString()}`);
  child.stdin.end();
  await once(child, 'close');
  return ms;
}
