import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const FIXTURE = fileURLToPath(new URL('./fixtures/leaves-a-runner-open.ts', import.meta.url));

describe('a process with idle threads', () => {
  it('ends by itself, and keeps its output to itself: what tools print goes to its error stream, limited', async () => {
    const args = ['--import', 'tsx', FIXTURE];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { timeout: 150_000 });
    expect(stdout).toBe('returned\n');
    expect(stderr).toMatch(/^hello from the tool\nline 0\n/);
    expect(stderr).toContain('printed more than 65536 bytes; the rest is dropped');
    expect(stderr.length).toBeLessThan(70_000);
  });
});
