import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { say } from '../cli/support/program.ts';
import { endOf, runBuilt, startBuilt } from '../e2e/support/built-volley.ts';
import { project } from '../e2e/support/project.ts';
import { isAlive } from '../support/alive.ts';
import { trustFolder } from '../support/trust.ts';
import { onTerminal, type StartedBy } from './support/terminal.ts';

const SLOW = { timeout: 600_000 };
/** `VOLLEY_DRILL_HANGUPS=20` closes as many terminals of each kind. */
const HANGUPS = Number(process.env['VOLLEY_DRILL_HANGUPS'] ?? 3);
const PLACES = ['inline', 'thread', 'process'] as const;
const tool = (isolation: (typeof PLACES)[number]) =>
  `export const ${isolation} = defineTool({ name: "hold_${isolation}", isolation: "${isolation}", run: async (_, { signal }) => {
     writeFileSync("held-${isolation}", String(process.pid));
     while (!existsSync("go") && !signal.aborted) await new Promise((resolve) => setTimeout(resolve, 20));
   } });`;
const files = {
  'volley.toml': '[tools]\nmodules = ["./tools.mjs"]\n',
  'tools.mjs': ['{define} import { existsSync, writeFileSync } from "node:fs";', ...PLACES.map(tool)].join(
    '\n',
  ),
  'held.json': JSON.stringify({
    max_concurrent: 3,
    tasks: [
      ...PLACES.map((place) => ({ id: place, function: `hold_${place}` })),
      { id: 'later', function: 'hold_inline', depends_on: ['inline'] },
    ],
  }),
};

/** A folder of which the user has approved the tools. */
async function trustedProject(): Promise<string> {
  const folder = project(files);
  await trustFolder(folder);
  return folder;
}

async function untilHeld(folder: string): Promise<void> {
  for (const place of PLACES)
    await expect.poll(() => existsSync(join(folder, `held-${place}`)), { timeout: 120_000 }).toBe(true);
}

/** How the batch stands when nobody runs it any more. */
async function countsOf(folder: string): Promise<Record<string, number>> {
  const { stdout } = await runBuilt(folder, ['wait', '--json']);
  return JSON.parse(stdout).data.counts;
}

/** Closes the terminal while three tasks run, then lets them end. */
async function closeWhileHeld(startedBy: StartedBy): Promise<Record<string, number>> {
  const folder = await trustedProject();
  const terminal = onTerminal(folder, ['run', 'held.json'], startedBy);
  await untilHeld(folder);
  await terminal.close();
  const pid = Number(readFileSync(join(folder, 'held-inline'), 'utf8'));
  // A signal that would cancel has done so by the time at which the batch has been asked how it stands.
  const { stdout } = await say(folder, ['status', '--json']);
  expect(JSON.parse(stdout).data.counts).toMatchObject({ running: 3 });
  writeFileSync(join(folder, 'go'), '');
  await expect.poll(() => isAlive(pid)).toBe(false);
  return countsOf(folder);
}

describe('closing the terminal of a run', () => {
  it.each<[StartedBy, string]>([
    ['itself', 'the kernel'],
    ['shell', 'the kernel and an interactive shell'],
  ])('lets running tasks finish and starts no others (%s: told by %s)', SLOW, async (startedBy) => {
    for (let count = 0; count < HANGUPS; count++)
      expect(await closeWhileHeld(startedBy)).toMatchObject({
        completed: 3,
        open: 1,
        cancelled: 0,
        failed: 0,
      });
  });

  it('cancels nothing however often SIGHUP arrives, even after Ctrl-C', SLOW, async () => {
    const folder = await trustedProject();
    const runner = startBuilt(folder, ['run', 'held.json']);
    const ended = endOf(runner);
    await untilHeld(folder);
    for (const signal of ['SIGHUP', 'SIGHUP', 'SIGINT', 'SIGHUP', 'SIGHUP'] as const) {
      runner.kill(signal);
      // Each is heard by itself: signals that are pending at once count as one.
      await runBuilt(folder, ['status', '--json']);
    }
    writeFileSync(join(folder, 'go'), '');
    expect(await ended).toMatchObject({ status: 130 });
    expect(await countsOf(folder)).toMatchObject({ completed: 3, open: 1, cancelled: 0 });
  });

  it('leaves a second Ctrl-C its meaning: running tasks are cancelled', SLOW, async () => {
    const folder = await trustedProject();
    const runner = startBuilt(folder, ['run', 'held.json']);
    const ended = endOf(runner);
    await untilHeld(folder);
    runner.kill('SIGHUP');
    runner.kill('SIGINT');
    await runBuilt(folder, ['status', '--json']);
    runner.kill('SIGINT');
    expect(await ended).toMatchObject({ status: 130 });
    expect(await countsOf(folder)).toMatchObject({ cancelled: 3, open: 1 });
  });
});
