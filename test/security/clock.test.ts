import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { say } from '../cli/support/program.ts';
import { runBuilt } from '../e2e/support/built-volley.ts';
import { project } from '../e2e/support/project.ts';

const YEAR_MS = 365 * 24 * 3_600_000;
/** Sets the time of day, which Volley sees, by so much when the file appears. */
const CLOCK = `
import { existsSync } from 'node:fs';
const now = Date.now.bind(Date);
let shift = 0;
Date.now = () => {
  if (shift === 0 && existsSync(process.env.CLOCK_FILE)) shift = Number(process.env.CLOCK_SHIFT);
  return now() + shift;
};
`;
const TOOLS = `{define}
import { existsSync, writeFileSync } from 'node:fs';

/** Sets the clock while it runs. */
export const jump = defineTool({
  name: 'jump',
  input: { type: 'object' },
  run: async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    writeFileSync(process.env.CLOCK_FILE, '');
    return Date.now();
  },
});

/** Fails at first. */
export const flaky = defineTool({
  name: 'flaky',
  input: { type: 'object', properties: { id: { type: 'string' } } },
  idempotent: true,
  retry: { maxRetries: 1, delayMs: 1500, jitter: 0 },
  run: async ({ id }) => {
    const file = new URL('./failed-' + id, import.meta.url);
    if (existsSync(file)) return id;
    writeFileSync(file, '');
    throw new Error('try again');
  },
});
`;

interface Row {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly duration_ms: number;
  readonly started_at: string;
  readonly ended_at: string;
}

function folder(): string {
  return project({
    'tools.mjs': TOOLS,
    'clock.mjs': CLOCK,
    'volley.toml': '[tools]\nmodules = ["tools.mjs"]\n',
  });
}

async function results(cwd: string): Promise<readonly Row[]> {
  const { stdout } = await say(cwd, ['results', '--batch', 'stdin', '--format', 'json', '--json']);
  return (JSON.parse(stdout) as { data: { results: Row[] } }).data.results;
}

test.each([
  ['forward', YEAR_MS],
  ['back', -YEAR_MS],
])('a clock that is set %s by a year changes no duration, and no forecast', async (_, shift) => {
  const cwd = folder();
  const env = {
    NODE_OPTIONS: `--import=${pathToFileURL(join(cwd, 'clock.mjs'))}`,
    CLOCK_FILE: join(cwd, 'jumped'),
    CLOCK_SHIFT: String(shift),
  };
  const input = JSON.stringify([{ id: 'a', function: 'jump' }]);
  const run = await runBuilt(cwd, ['run', '-'], { env, input });
  expect(run).toMatchObject({ status: 0 });
  expect(run.stdout).not.toContain('times as fast');
  expect(run.stdout).not.toContain('nothing left to run');
  const [row] = await results(cwd);
  // The moments are those of the clock, and so say that it was set.
  expect(Math.sign(Date.parse(row!.ended_at) - Date.parse(row!.started_at))).toBe(Math.sign(shift));
  expect(row!.duration_ms).toBeGreaterThanOrEqual(15);
  expect(row!.duration_ms).toBeLessThan(60_000);
  const forecast = await say(
    cwd,
    ['simulate', '-', '--json', '--max-concurrent', '1'],
    JSON.stringify([{ id: 'b', function: 'jump' }]),
  );
  const [, expected] = /"expected_ms":\s*([\d.]+)/.exec(forecast.stdout) ?? [];
  expect(Number(expected)).toBeGreaterThanOrEqual(15);
  expect(Number(expected)).toBeLessThan(60_000);
});

test('a pause before a retry counts neither as work nor as concurrency', async () => {
  const cwd = folder();
  const input = JSON.stringify(['a', 'b', 'c'].map((id) => ({ id, function: 'flaky', params: { id } })));
  const args = ['run', '-', '--max-concurrent', '1', '--gantt', 'gantt.svg', '--trace', 'trace.json'];
  const run = await runBuilt(cwd, args, { input });
  expect(run).toMatchObject({ status: 0 });
  expect(run.stdout).not.toContain('times as fast');
  for (const { attempts, duration_ms, started_at, ended_at } of await results(cwd)) {
    expect(attempts).toBe(2);
    expect(Date.parse(ended_at) - Date.parse(started_at)).toBeGreaterThanOrEqual(1400);
    expect(duration_ms).toBeLessThan(1400);
  }
  const { traceEvents } = JSON.parse(readFileSync(join(cwd, 'trace.json'), 'utf8')) as {
    traceEvents: { ph: string; tid: number; dur: number }[];
  };
  const spans = traceEvents.filter(({ ph }) => ph === 'X');
  expect(spans).toHaveLength(6);
  expect(new Set(spans.map(({ tid }) => tid)).size).toBe(1);
  expect(Math.max(...spans.map(({ dur }) => dur))).toBeLessThan(1_400_000);
  expect(readFileSync(join(cwd, 'gantt.svg'), 'utf8')).not.toContain('times as fast');
});
