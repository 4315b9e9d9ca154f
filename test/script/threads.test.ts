import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

it('does not keep the process alive when nothing is being evaluated', async () => {
  const fixture = fileURLToPath(new URL('fixtures/use-once.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', fixture]);
  // Idle threads are kept for 5 s, but not for their own sake.
  expect(Number(stdout)).toBeLessThan(4000);
});
