import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { say } from '../cli/support/program.ts';
import { trustFolder } from '../support/trust.ts';
import { until } from '../support/until.ts';
import { runBuilt, startBuilt } from './support/built-volley.ts';
import { project } from './support/project.ts';

const TOOLS = `
{define}
import { appendFileSync, existsSync } from 'node:fs';
export const held = defineTool({
  name: 'held',
  idempotent: true,
  resources: { cpu: 0.01, memoryMb: 1 },
  run: async ({ key }, { signal }) => {
    appendFileSync('log.txt', 'start ' + key + '\\n');
    while (!existsSync(key)) {
      signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return key;
  },
});
`;
const task = (key: string) => ({ id: key, function: 'held', params: { key } });
const files = {
  'volley.toml': '[tools]\nmodules = ["./tools.mjs"]\n',
  'tools.mjs': TOOLS,
  'work.json': JSON.stringify({ max_concurrent: 2, tasks: ['a', 'b', 'c'].map(task) }),
};

describe('a batch that runs in another process', () => {
  it('takes tasks that are added, loses those that are cancelled, and stops when it is told to', async () => {
    const folder = project(files);
    const started = (key: string) =>
      existsSync(join(folder, 'log.txt')) &&
      readFileSync(join(folder, 'log.txt'), 'utf8').includes(`start ${key}\n`);
    await trustFolder(folder);
    const runner = startBuilt(folder, ['run', 'work.json']);
    const ended = new Promise<number | null>((resolve) => runner.on('close', resolve));
    runner.stdout!.resume();
    runner.stderr!.resume();
    await until(() => started('a') && started('b'));

    const added = await runBuilt(folder, [
      ...['add', '--batch', 'work', '--id', 'd', '--priority', 'critical'],
      ...['--function', 'held', '--params', '{"key":"d"}'],
    ]);
    expect(added).toMatchObject({ status: 0, stdout: expect.stringContaining('will run them too') });
    const cancelled = await say(folder, ['cancel', 'a', '--batch', 'work']);
    expect(cancelled).toMatchObject({ status: 0, stdout: expect.stringContaining('Cancelled 1 task') });
    // The place of the one that was cancelled goes to the more urgent one that was added.
    await until(() => started('d'));
    expect(started('c')).toBe(false);

    const stopped = await say(folder, ['stop', '--batch', 'work']);
    expect(stopped).toMatchObject({ status: 0 });
    expect(stopped.stdout).toContain(`is stopping in process ${runner.pid} on `);
    expect(stopped.stdout).toContain('2 running tasks may finish');
    for (const key of ['b', 'd']) writeFileSync(join(folder, key), '');
    expect(await ended).toBe(1);
    const { stdout } = await say(folder, ['status', '--batch', 'work', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      data: { state: 'idle', counts: { completed: 2, cancelled: 1, open: 1 } },
    });
  }, 300_000);
});
