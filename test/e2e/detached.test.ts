import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { say } from '../cli/support/program.ts';
import { trustFolder } from '../support/trust.ts';
import { until } from '../support/until.ts';
import { runBuilt, startBuilt } from './support/built-volley.ts';
import { project } from './support/project.ts';

const TOOLS = `
{define}
import { existsSync, writeFileSync } from 'node:fs';
export const held = defineTool({
  name: 'held',
  resources: { cpu: 0.01, memoryMb: 1 },
  run: async ({ key }, { signal }) => {
    writeFileSync('started-' + key, '');
    while (!existsSync(key)) {
      signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return key;
  },
});
`;
const files = {
  'volley.toml': '[tools]\nmodules = ["./tools.mjs"]\n',
  'tools.mjs': TOOLS,
  'work.json': JSON.stringify(['a', 'b'].map((key) => ({ id: key, function: 'held', params: { key } }))),
};
const SLOW = { timeout: 300_000 };

describe('start --detach', () => {
  it('answers when the batch runs, so that watch and wait find it running', SLOW, async () => {
    const folder = project(files);
    await say(folder, ['add-batch', 'work.json', '--batch', 'work']);
    const started = await runBuilt(folder, ['start', '--detach', '--json']);
    const { pid, batch } = JSON.parse(started.stdout);
    expect({ status: started.status, batch }).toEqual({ status: 0, batch: 'work' });
    const status = JSON.parse((await say(folder, ['status', '--json'])).stdout);
    expect(status.data).toMatchObject({ state: 'elsewhere', holder: { pid } });

    const again = await runBuilt(folder, ['start', '--detach']);
    expect(again).toMatchObject({ status: 2, stdout: '' });
    expect(again.stderr).toContain(`The batch "work" is being run by process ${pid} on`);

    for (const key of ['a', 'b']) writeFileSync(join(folder, key), '');
    expect(await runBuilt(folder, ['watch'])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('The batch "work" has ended.'),
    });
  });

  it('says at once if there is no such batch', SLOW, async () => {
    const folder = project(files);
    await say(folder, ['add-batch', 'work.json', '--batch', 'work']);
    const said = await say(folder, ['start', '--batch', 'werk', '--detach']);
    expect(said).toMatchObject({ status: 2, stdout: '' });
    expect(said.stderr).toContain('Did you mean "work"?');
  });
});

describe('a run that nobody watches any more', () => {
  it('goes on to its end when its output is closed', SLOW, async () => {
    const folder = project(files);
    await trustFolder(folder);
    const runner = startBuilt(folder, ['run', 'work.json', '--verbose', '--max-concurrent', '1']);
    runner.stderr!.destroy();
    runner.stdout!.resume();
    const ended = new Promise<number | null>((resolve) => runner.on('close', resolve));
    for (const key of ['a', 'b']) {
      await until(() => existsSync(join(folder, `started-${key}`)));
      writeFileSync(join(folder, key), '');
    }
    expect(await ended).toBe(0);
  });

  it('stops gracefully when its terminal is closed', SLOW, async () => {
    const folder = project(files);
    await trustFolder(folder);
    const runner = startBuilt(folder, ['run', 'work.json', '--max-concurrent', '1']);
    runner.stdout!.resume();
    let said = '';
    runner.stderr!.on('data', (text: Buffer) => {
      said += text.toString();
    });
    const ended = new Promise<number | null>((resolve) => runner.on('close', resolve));
    await until(() => existsSync(join(folder, 'started-a')));
    runner.kill('SIGHUP');
    await until(() => said.includes('Finishing running tasks, then stopping'));
    writeFileSync(join(folder, 'a'), '');
    expect(await ended).toBe(130);
    const { data } = JSON.parse((await say(folder, ['status', '--json'])).stdout);
    expect(data.counts).toMatchObject({ completed: 1, open: 1, running: 0, failed: 0 });
  });
});
