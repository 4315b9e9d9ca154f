import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const PROGRAM = fileURLToPath(new URL('support/shows-a-batch.ts', import.meta.url));

/** Runs a program with the display on a stream that says it is a terminal. */
async function run(end: string): Promise<{ output: string; status: string }> {
  const child = spawn(process.execPath, ['--import', 'tsx', PROGRAM, end], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    if (end.startsWith('SIG') && text.includes('\x1b[?25l')) child.kill(end as NodeJS.Signals);
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { output, status: String(signal ?? code) };
}

describe('the cursor', () => {
  it.each([
    ['an uncaught error', 'throw', '1'],
    ['process.exit', 'exit', '3'],
    ['SIGINT', 'SIGINT', 'SIGINT'],
    ['SIGTERM', 'SIGTERM', 'SIGTERM'],
    ['SIGHUP', 'SIGHUP', 'SIGHUP'],
  ])(
    'comes back after %s',
    async (_name, end, status) => {
      const result = await run(end);
      expect(result.status).toBe(status);
      expect(result.output.lastIndexOf('\x1b[?25h')).toBeGreaterThan(result.output.lastIndexOf('\x1b[?25l'));
    },
    180_000,
  );
});
