import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { onTestFinished } from 'vitest';
import { buildProgram } from '../../../e2e/support/built-program.ts';
import { project } from '../../../e2e/support/project.ts';
import { trustFolder } from '../../../support/trust.ts';
import { until } from '../../../support/until.ts';
import { clientOf, type Revision } from './mcp.ts';

const built = await buildProgram();

/** What `node` is given. */
export const PROGRAM_ARGS = [built.main, 'mcp'];

export interface StdioClient {
  readonly client: Client;
  readonly transport: StdioClientTransport;
  /** What the program wrote for people. */
  readonly stderr: () => string;
}

/** The real program as a real client starts it; ended after the test. */
export async function connectStdio(folder: string, revision: Revision): Promise<StdioClient> {
  await trustFolder(folder);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: PROGRAM_ARGS,
    cwd: folder,
    // Clients hand on little of their environment; this is where the tests approve.
    env: { ...getDefaultEnvironment(), XDG_CONFIG_HOME: process.env['XDG_CONFIG_HOME']! },
    stderr: 'pipe',
  });
  let text = '';
  transport.stderr?.on('data', (chunk) => {
    text += chunk;
  });
  const client = clientOf(revision);
  onTestFinished(() => client.close());
  await client.connect(transport, { timeout: 120_000 });
  return { client, transport, stderr: () => text };
}

/** A folder with tools that the test ends by making files, and that tell by files what becomes of them. */
export function projectWithTools(): string {
  return project({
    'volley.toml': '[tools]\nmodules = ["./tools.mjs"]\n',
    'a.txt': 'first',
    'b.txt': 'second',
    'tools.mjs': `import { defineTool } from '${built.moduleUrl('tools/define-tool.js')}';
import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
export const hold = defineTool({
  name: 'hold',
  description: 'Waits for a file.',
  run: async ({ key }, { signal }) => {
    console.log('this must not disturb the protocol');
    process.stdout.write('nor this\\n');
    writeFileSync(key + '.started', '');
    signal.addEventListener('abort', () => writeFileSync(key + '.stopped', ''));
    while (!existsSync(key + '.go')) await sleep(10, undefined, { signal });
    return key;
  },
});
export const broken = defineTool({ name: 'broken', description: 'Fails.', run: () => { throw new Error('it broke'); } });
export const large = defineTool({ name: 'large', description: 'Returns much.', run: ({ length }) => 'x'.repeat(length) });
`,
  });
}

export async function fileAppears(folder: string, name: string): Promise<void> {
  await until(() => existsSync(join(folder, name)), `the file ${name}`);
}
