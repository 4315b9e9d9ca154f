import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { say } from '../cli/support/program.ts';
import { trustFolder } from '../support/trust.ts';
import { endOf, runBuilt, startBuilt } from './support/built-volley.ts';
import { project } from './support/project.ts';

const SLOW = { timeout: 180_000 };
const TOOLS = `
{define}
import { appendFileSync, existsSync } from 'node:fs';
export const note = defineTool({
  name: 'note',
  idempotent: true,
  resources: { cpu: 0.01, memoryMb: 1 },
  run: async ({ text, until, fail = false }) => {
    appendFileSync('log.txt', 'start ' + text + '\\n');
    do await new Promise((resolve) => setTimeout(resolve, until === undefined ? 0 : 20));
    while (until !== undefined && !existsSync(until));
    if (fail) throw new Error('could not note ' + text);
    appendFileSync('log.txt', 'end ' + text + '\\n');
    return { text };
  },
});
export const once = defineTool({
  name: 'once',
  run: async ({ text, ms = 0 }) => {
    appendFileSync('log.txt', 'start ' + text + '\\n');
    await new Promise((resolve) => setTimeout(resolve, ms));
    return { text };
  },
});
`;
const CONFIG = '[tools]\nmodules = ["./tools.mjs"]\n';
const files = { 'volley.toml': CONFIG, 'tools.mjs': TOOLS };
const linesOf = (folder: string, start: string) =>
  readFileSync(join(folder, 'log.txt'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith(start));

/** Waits until a file of the project has so many lines that begin with a word. */
async function untilLines(folder: string, start: string, count: number): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (!existsSync(join(folder, 'log.txt')) || linesOf(folder, start).length < count) {
    if (Date.now() > deadline) throw new Error(`there were never ${count} lines with "${start}"`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('the command line', () => {
  it('takes tasks in, runs them, shows them, exports them and forgets them', SLOW, async () => {
    const folder = project(files);
    const add = (...args: string[]) => say(folder, ['add', '--function', 'note', ...args]);
    expect(await add('--name', 'first', '--params', '{"text":"a"}', '--priority', 'high')).toMatchObject({
      status: 0,
    });
    const tasks = JSON.stringify([
      { id: 'b', function: 'note', params: { text: 'b' } },
      { id: 'c', function: 'note', params: { text: 'after ${b.text}' } },
      { id: 'd', function: 'note', params: { text: 'd', fail: true } },
      { id: 'e', function: 'note', params: { text: 'e' }, depends_on: ['d'] },
    ]);
    expect(await runBuilt(folder, ['add-batch', '-', '--batch', 'default'], { input: tasks })).toMatchObject({
      status: 0,
    });

    const started = await runBuilt(folder, ['start', '--max-concurrent', '5', '--timeout', '300']);
    expect(started.status).toBe(1);
    expect(started.stdout).toContain('3 of 5 completed, 1 failed, 1 skipped');
    expect(started.stderr).toContain('could not note d');

    const status = await say(folder, ['status', '--detailed', '--json']);
    expect(JSON.parse(status.stdout)).toMatchObject({
      ok: true,
      data: { counts: { completed: 3, failed: 1, skipped: 1 } },
    });
    const results = await say(folder, ['results', '--format', 'summary']);
    expect(results.stdout).toContain('could not note d');
    expect((await say(folder, ['results', '--id', 'c'])).stdout).toContain('{"text":"after b"}');
    expect(await say(folder, ['export', '--format', 'csv', '--output-file', 'results.csv'])).toMatchObject({
      status: 0,
    });
    expect(readFileSync(join(folder, 'results.csv'), 'utf8').split('\r\n')).toHaveLength(7);
    expect(await say(folder, ['clear'])).toMatchObject({ status: 0 });
    expect((await say(folder, ['list'])).stdout).not.toContain('"default"');
  });

  it('goes on with the same command after it was killed: nothing completed runs again', SLOW, async () => {
    const tasks = Array.from({ length: 30 }, (_, index) => ({
      id: `t${index}`,
      function: 'note',
      params: { text: `t${index}`, ...(index >= 10 && { until: 'go' }) },
    }));
    const folder = project({ ...files, 'work.json': JSON.stringify({ max_concurrent: 4, tasks }) });
    await trustFolder(folder);
    const first = startBuilt(folder, ['run', 'work.json']);
    const killed = endOf(first);
    await untilLines(folder, 'start t', 12);
    first.kill('SIGKILL');
    expect(await killed).toMatchObject({ status: null });
    writeFileSync(join(folder, 'go'), '');

    const second = await runBuilt(folder, ['run', 'work.json']);
    expect(second).toMatchObject({ status: 0 });
    expect(second.stdout).toContain('all 30 tasks completed');
    const starts = linesOf(folder, 'start ');
    // What was running when it was killed starts twice, at most.
    expect(starts.length).toBeLessThanOrEqual(34);
    for (let index = 0; index < 8; index++)
      expect(starts.filter((line) => line === `start t${index}`)).toHaveLength(1);
  });

  it(
    'leaves it to a person whether a task that may not run twice runs again after a crash',
    SLOW,
    async () => {
      const folder = project(files);
      await say(folder, [
        'add',
        '--id',
        'pay',
        '--function',
        'once',
        '--params',
        '{"text":"pay","ms":600000}',
      ]);
      await trustFolder(folder);
      const first = startBuilt(folder, ['start']);
      const killed = endOf(first);
      await untilLines(folder, 'start pay', 1);
      first.kill('SIGKILL');
      expect(await killed).toMatchObject({ status: null });
      const second = await runBuilt(folder, ['start', '--json']);
      expect(second.status).toBe(1);
      expect((await say(folder, ['results'])).stdout).toContain('crashed');
      expect(linesOf(folder, 'start pay')).toHaveLength(1);
    },
  );

  it('stops gracefully at the first interrupt, and says so by its exit status', SLOW, async () => {
    const tasks = Array.from({ length: 8 }, (_, index) => ({
      function: 'note',
      params: { text: `t${index}`, until: 'go' },
    }));
    const folder = project({ ...files, 'work.json': JSON.stringify(tasks) });
    await trustFolder(folder);
    const child = startBuilt(folder, ['run', 'work.json', '--max-concurrent', '2']);
    const heard = new Promise<void>((resolve) => {
      let said = '';
      child.stderr!.on('data', (text: Buffer) => {
        said += text.toString();
        if (said.includes('Finishing running tasks, then stopping')) resolve();
      });
    });
    const ended = endOf(child);
    await untilLines(folder, 'start ', 1);
    child.kill('SIGINT');
    await heard;
    writeFileSync(join(folder, 'go'), '');
    expect(await ended).toMatchObject({ status: 130 });
    expect(linesOf(folder, 'start ').length).toBe(linesOf(folder, 'end ').length);
    expect(linesOf(folder, 'end ').length).toBeLessThanOrEqual(2);
    expect(await runBuilt(folder, ['run', 'work.json'])).toMatchObject({ status: 0 });
    expect(linesOf(folder, 'end ')).toHaveLength(8);
  });

  it(
    'at the second interrupt puts back what may run again, and cancels the rest until a retry',
    SLOW,
    async () => {
      const tasks = [
        { id: 'again', function: 'note', params: { text: 'again', until: 'go' } },
        { id: 'pay', function: 'once', params: { text: 'pay', ms: 600_000 } },
      ];
      const folder = project({ ...files, 'work.json': JSON.stringify(tasks) });
      await trustFolder(folder);
      const child = startBuilt(folder, ['run', 'work.json']);
      const heard = new Promise<void>((resolve) => {
        let said = '';
        child.stderr!.on('data', (text: Buffer) => {
          said += text.toString();
          if (said.includes('Press Ctrl-C again to cancel them')) resolve();
        });
      });
      const ended = endOf(child);
      await untilLines(folder, 'start ', 2);
      child.kill('SIGINT');
      await heard;
      child.kill('SIGINT');
      const { status, stdout } = await ended;
      expect(status).toBe(130);
      expect(stdout).toMatch(/1 cancelled.*1 not finished/);
      expect(stdout).toContain('volley retry --batch work');
      writeFileSync(join(folder, 'go'), '');
      const second = await runBuilt(folder, ['run', 'work.json', '--json']);
      expect(JSON.parse(second.stdout).data.counts).toMatchObject({ completed: 1, cancelled: 1 });
      expect(linesOf(folder, 'start pay')).toHaveLength(1);
    },
  );

  it.each([
    [['stauts'], 'Did you mean status?'],
    [['add', '--function', 'read_fil'], 'did you mean read_file?'],
    [['add', '--function', 'note', '--params', '{a}'], 'It must be JSON'],
    [['add', '--function', 'note', '--priority', 'urgent'], 'critical, high, normal'],
    [['start', '--batch', 'nobody'], 'There is no batch "nobody"'],
    [['start', '--max-concurrent', 'many'], '--max-concurrent'],
    [['run', 'missing.json'], 'the file does not exist'],
    [['run'], 'Give a task file'],
    [['export', '--output-file', '../out.json', '--batch', 'x'], 'x'],
  ])('answers %j with what is wrong, in one or two lines, and status 2', SLOW, async (args, message) => {
    const ended = await say(project(files), args);
    expect(ended.status).toBe(2);
    expect(ended.stderr).toContain(message);
    expect(ended.stderr).not.toMatch(/^\s+at /m);
  });
});
