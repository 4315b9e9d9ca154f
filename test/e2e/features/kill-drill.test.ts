import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { isAlive } from '../../support/alive.ts';
import { trustFolder } from '../../support/trust.ts';
import { until } from '../../support/until.ts';
import { FeatureProject } from '../../tasks/run/feature-project.ts';
import { runBuilt, startBuilt } from '../support/built-volley.ts';

/** `npm run drill:features` does it more often. */
const KILLS = Number(process.env['VOLLEY_DRILL_KILLS'] ?? 2);
/** More than are done before the last kill, however slow the machine is; the last of them wait for the last run. */
const WIDTH = 3;
const SUBTASKS = WIDTH * (2 * KILLS + 1);

it(`after kill -9 of the orchestrator (${KILLS} times) nothing verified is redone, no agent is left, no claim is stuck`, {
  timeout: 180_000 + KILLS * 20_000,
}, async () => {
  const seqs = Array.from({ length: SUBTASKS }, (_, place) => String(place + 1).padStart(2, '0'));
  const project = new FeatureProject(
    Object.fromEntries(
      seqs.map((seq, place) => [
        seq,
        {
          deliverables: [`out/${seq}.txt`],
          ...(place >= WIDTH && { depends_on: [seqs[place - WIDTH]] }),
          behaviour: {
            ms: 150 + 60 * (place % WIDTH),
            ...(place >= SUBTASKS - WIDTH && { hold: '.volley/go' }),
          },
        },
      ]),
    ),
    { settings: `max_concurrent = ${WIDTH}` },
  );
  const completed = () => seqs.filter((seq) => project.subtask(seq)['status'] === 'completed');
  /** How often each had been begun when it was seen to be completed. */
  const settled = new Map<string, number>();
  const startsOf = (seq: string) => project.begun().filter((one) => one === seq).length;

  for (let kill = 1; kill <= KILLS; kill++) {
    const before = project.notes('start').length;
    await trustFolder(project.folder);
    const child = startBuilt(project.folder, ['tasks', 'run', 'auth', '--json']);
    child.stdout!.resume();
    const closed = once(child, 'close');
    // The first kill may come before anything is done, each later one finds more to be kept.
    await until(() => completed().length >= kill - 1, `${kill - 1} are completed`);
    // At another moment of an agent's life each time.
    await until(() => project.notes('start').length >= before + 1 + (kill % WIDTH), 'agents begin');
    await sleep((kill * 97) % 300);
    child.kill('SIGKILL');
    expect(await closed).toEqual([null, 'SIGKILL']);
    const pids = project.notes('start').map(({ pid }) => pid);
    await until(() => !pids.some(isAlive), 'agents end with their orchestrator');
    for (const seq of completed()) if (!settled.has(seq)) settled.set(seq, startsOf(seq));
  }

  project.put('.volley/go', '');
  const last = await runBuilt(project.folder, ['tasks', 'run', 'auth', '--json']);
  expect(last.status, last.stdout + last.stderr).toBe(0);
  expect(completed()).toEqual(seqs);
  for (const [seq, starts] of settled) expect([seq, startsOf(seq)]).toEqual([seq, starts]);
  for (const seq of seqs) expect(project.subtask(seq)).not.toHaveProperty('claim');
  expect(project.notes('start').some(({ pid }) => isAlive(pid))).toBe(false);
  expect(settled.size).toBeGreaterThanOrEqual(KILLS - 1);
});
