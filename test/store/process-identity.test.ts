import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { livesAsSeenBy, ownIdentity, seenByPs } from '../../src/store/process-identity.ts';

it.skipIf(!existsSync('/proc/self/stat'))(
  'a process that has ended is gone, even if nobody ever notices',
  async () => {
    // What the shell has become does not ask what became of its child.
    const parent = spawn('/bin/sh', ['-c', 'sleep 600 & echo $!; exec sleep 600'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    onTestFinished(() => void parent.kill());
    const pid = Number(await new Promise((resolve) => parent.stdout.once('data', resolve)));
    const fields = () =>
      readFileSync(`/proc/${pid}/stat`, 'latin1')
        .replace(/^.*\) /, '')
        .split(' ');
    const self = ownIdentity();
    const child = { ...self, pid, start: fields()[19] };
    expect(livesAsSeenBy(self, child)).toBe(true);
    await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, 'utf8')).toBe('sleep\n');
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => fields()[0]).toBe('Z');
    expect(livesAsSeenBy(self, child)).toBe(false);
  },
);

it.skipIf(process.platform === 'win32')('ps tells when a process started, and that one is gone', async () => {
  const child = spawn('/bin/sh', ['-c', 'exec sleep 600'], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const seen = seenByPs(child.pid!);
  expect(seen).toMatchObject({
    isOver: false,
    start: expect.stringMatching(/^\w{3} \w{3} \d+ [\d:]{8} \d{4}$/),
  });
  // The answer for one process is not that for another.
  expect(seenByPs(process.pid)?.start).toMatch(/\d{4}$/);
  expect(seenByPs(child.pid!)).toEqual(seen);
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
  seenByPs(process.pid);
  expect(seenByPs(child.pid!)).toBeUndefined();
});
