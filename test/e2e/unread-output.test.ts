import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { say } from '../cli/support/program.ts';
import { trustFolder } from '../support/trust.ts';
import { type Ended, endOf, runBuilt, startBuilt } from './support/built-volley.ts';
import { project } from './support/project.ts';

const SLOW = { timeout: 300_000 };
const read = (path: string) => ({ id: path, function: 'read_file', params: { path } });
const WAIT =
  '{define} import { existsSync, writeFileSync } from "node:fs";\nexport const hold = defineTool({ name: "hold", run: async () => { writeFileSync("held", ""); while (!existsSync("go")) await new Promise((r) => setTimeout(r, 20)); } });';
const files = {
  'volley.toml': '[tools]\nmodules = ["./tools.mjs"]\n',
  'tools.mjs': WAIT,
  'good.json': JSON.stringify({ tasks: [read('good.json')] }),
  'bad.json': JSON.stringify({ tasks: [read('good.json'), read('missing')] }),
  'held.json': JSON.stringify({ tasks: [{ id: 'held', function: 'hold' }] }),
};

interface Batch {
  readonly batch: string;
  readonly counts: Readonly<Record<string, number>>;
}

/** Nobody reads its standard output, from the beginning. */
async function unread(folder: string, ...args: string[]): Promise<Ended> {
  await trustFolder(folder);
  const child = startBuilt(folder, args);
  child.stdout!.destroy();
  return endOf(child);
}

describe('a reader that goes away', () => {
  it('ends what only shows something with 141, and leaves work and its status alone', SLOW, async () => {
    const folder = project(files);
    const ends = await Promise.all(
      [
        ['run', 'good.json'],
        ['run', 'bad.json', '--json'],
        ['add', '--function', 'read_file'],
      ].map((args) => unread(folder, ...args)),
    );
    expect(ends.map(({ status }) => status)).toEqual([0, 1, 2]);
    const { batches } = JSON.parse((await say(folder, ['list', '--json'])).stdout).data;
    const byName = Object.fromEntries(batches.map(({ batch, counts }: Batch) => [batch, counts]));
    expect(byName).toMatchObject({ good: { completed: 1 }, bad: { completed: 1, failed: 1 } });
    const shown = [['list'], ['results', '--batch', 'bad', '--json'], ['run', 'good.json', '--dry-run']];
    for (const ended of await Promise.all(
      [...shown, ['tasks', 'status']].map((args) => unread(folder, ...args)),
    ))
      expect(ended).toEqual({ status: 141, stdout: '', stderr: '' });
  });

  it('ends a watch while what is watched goes on', SLOW, async () => {
    const folder = project(files);
    await trustFolder(folder);
    const running = endOf(startBuilt(folder, ['run', 'held.json']));
    await expect.poll(() => existsSync(join(folder, 'held')), { timeout: 60_000 }).toBe(true);
    expect(await unread(folder, 'watch', '--json')).toEqual({ status: 141, stdout: '', stderr: '' });
    writeFileSync(join(folder, 'go'), '');
    expect(await running).toMatchObject({ status: 0, stdout: expect.stringContaining('completed') });
  });
});

describe.skipIf(!existsSync('/dev/full'))('output that cannot be written', () => {
  it('is said without a place in the code, and what was asked for is not done', SLOW, async () => {
    const folder = project(files);
    const before = ['sh', '-c', 'exec "$0" "$@" > /dev/full'];
    for (const args of [['run', 'good.json'], ['list']]) {
      const { status, stderr } = await runBuilt(folder, args, { before });
      expect(status).toBe(1);
      expect(stderr).toMatch(/^error: Cannot write to standard output: ENOSPC.*$/m);
      expect(stderr).not.toMatch(/^\s+at /m);
    }
    expect((await say(folder, ['list'])).stdout).toContain('1 completed');
  });
});
