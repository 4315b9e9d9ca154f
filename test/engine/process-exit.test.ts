import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

/** Runs a program to its end, which it must find by itself, and gives the lines that it printed. */
async function linesOf(program: URL): Promise<string[]> {
  const args = ['--import', 'tsx', fileURLToPath(program)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 150_000 });
  return stdout.trim().split('\n');
}

describe('a process with an engine', () => {
  it('lives while there is something to do, if only a retry to wait for, and ends by itself then', async () => {
    const [value, counts] = await linesOf(new URL('./fixtures/ends-by-itself.ts', import.meta.url));
    expect(value).toBe('attempt 2');
    const expected = { completed: 4, failed: 1, cancelled: 1, running: 0, retrying: 0 };
    expect(JSON.parse(counts!)).toMatchObject(expected);
  });

  it('lives until the time limit of a function that waits for nothing', async () => {
    expect(await linesOf(new URL('./fixtures/is-held-open.ts', import.meta.url))).toEqual(['failed']);
  });
});
