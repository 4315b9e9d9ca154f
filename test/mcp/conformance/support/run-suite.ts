import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const require = createRequire(import.meta.url);
const SUITE = join(
  dirname(require.resolve('@modelcontextprotocol/conformance/package.json')),
  'dist/index.js',
);
/** What the server does not offer. */
export const BASELINE = fileURLToPath(new URL('../baseline.yml', import.meta.url));
/** The suite asks for Node 22 because of one function, which no scenario for servers calls. */
const FOR_NODE_20 = new URL('./glob-for-node-20.mjs', import.meta.url).href;

/** Runs the scenarios for servers. Its output ends with what differs from the baseline. */
export async function runSuite(
  url: string,
  args: readonly string[],
): Promise<{ status: number; output: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'volley-conformance-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const flags = Number(process.versions.node.split('.')[0]) < 22 ? ['--import', FOR_NODE_20] : [];
  const child = spawn(
    process.execPath,
    [...flags, SUITE, 'server', '--url', url, ...args, '--expected-failures', BASELINE, '-o', folder],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  const [status] = (await once(child, 'close')) as [number];
  return { status, output };
}
