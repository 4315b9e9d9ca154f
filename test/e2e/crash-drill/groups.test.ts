import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { seededRandom } from '../../../src/core/random.ts';
import type { TaskRecord } from '../../../src/store/records.ts';
import { openStore } from '../../../src/store/sqlite-store.ts';
import { DrillProgram } from './program.ts';
import { readNotes, sizeOf, trailsIn } from './tool-log.ts';

/** The long form is `npm run drill:crash`. */
const KILLS = Number(process.env['VOLLEY_DRILL_KILLS'] ?? 4);
const SEED = Number(process.env['VOLLEY_DRILL_SEED'] ?? Date.now() % 1e9);
const ITEMS = 60;
const ROUNDS = 8;
const MAX_CONCURRENT = 6;
const LOOK_MS = 3;
const LONGEST_START_MS = 1500;
const LINE_LENGTH = 14;

function batchFile(log: string): object {
  const work = (key: string) => ({ function: 'plain', params: { log, key, ms: 15 } });
  return {
    max_concurrent: MAX_CONCURRENT,
    tasks: [
      { id: 'first', ...work('first') },
      {
        id: 'each',
        ...work('each-${item}'),
        for_each: `first && Array.from({ length: ${ITEMS} }, (_, i) => i * 2)`,
      },
      { id: 'few', ...work('few-${item.key}'), for_each: 'each.slice(0, 9)', max_concurrent: 2 },
      { id: 'rounds', ...work('round-${index}'), repeat: { until: `index === ${ROUNDS - 1} && result.key` } },
      { id: 'never', ...work('never'), when: 'few.length > 9' },
    ],
    return:
      '({ each: each.length, few: few.map(({ key }) => key), rounds: rounds.length, never: never ?? null })',
  };
}

test(`groups in a program that is killed again and again (seed ${SEED}) go on with the same items and repeat none that completed`, {
  timeout: 300_000 + KILLS * 20_000,
}, async () => {
  const random = seededRandom(SEED);
  const folder = mkdtempSync(join(tmpdir(), 'volley-crash-drill-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const program = await DrillProgram.in(folder);
  writeFileSync(join(folder, 'b.json'), JSON.stringify(batchFile(program.log)));
  const params = new Map<string, string>();
  const completed = new Map<string, number>();
  const tasks = async (): Promise<TaskRecord[]> => {
    const store = await openStore(program.store);
    return store.tasks('b', { limit: 10_000 }).finally(() => store.close());
  };
  /** No item changes, and what completed is not started again. */
  const check = (found: readonly TaskRecord[]) => {
    const trails = trailsIn(readNotes(program.log));
    for (const task of found) {
      expect(params.get(task.id) ?? task.params, task.id).toBe(task.params);
      params.set(task.id, task.params);
      const { key } = JSON.parse(task.params) as { key?: string };
      const { starts = 0 } = (key === undefined ? undefined : trails.get(key)) ?? {};
      if (completed.has(task.id))
        expect({ status: task.status, starts }, task.id).toEqual({
          status: 'completed',
          starts: completed.get(task.id),
        });
      if (task.status === 'completed') completed.set(task.id, starts);
    }
  };
  let kills = 0;
  for (;;) {
    const run = program.start('run', 'b.json');
    const isEarly = random() < 0.25;
    const deadline = performance.now() + (isEarly ? random() * LONGEST_START_MS : Number.POSITIVE_INFINITY);
    const enough = sizeOf(program.log) + random() * ((ITEMS * 2) / KILLS) * LINE_LENGTH;
    const isDue = () =>
      kills < KILLS && (isEarly ? performance.now() >= deadline : sizeOf(program.log) >= enough);
    while (!run.hasEnded && !isDue()) await sleep(LOOK_MS);
    if (kills < KILLS && (await run.kill())) {
      kills++;
      check(await tasks());
      continue;
    }
    expect({ status: await run.ended, stderr: run.stderr }).toEqual({ status: 0, stderr: '' });
    const { data } = JSON.parse(run.stdout) as { data: object };
    expect(data).toMatchObject({
      succeeded: true,
      returned: {
        each: ITEMS,
        few: Array.from({ length: 9 }, (_, i) => `few-each-${i * 2}`),
        rounds: ROUNDS,
        never: null,
      },
    });
    break;
  }
  const ended = await tasks();
  check(ended);
  expect(ended).toHaveLength(6 + ITEMS + 9 + ROUNDS);
  expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(['completed', 'skipped']));
  const repeats = [...trailsIn(readNotes(program.log)).values()].reduce(
    (sum, { starts }) => sum + starts - 1,
    0,
  );
  expect(repeats).toBeLessThanOrEqual(kills * MAX_CONCURRENT);
});
