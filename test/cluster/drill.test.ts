import type { ChildProcess } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startRedis } from '../../scripts/start-redis.ts';
import { seededRandom } from '../../src/core/random.ts';
import { openStore } from '../../src/store/sqlite-store.ts';
import { endOf, startBuilt } from '../e2e/support/built-volley.ts';
import { project } from '../e2e/support/project.ts';
import { trustFolder } from '../support/trust.ts';

/** How often each kind of fault happens. The long form is `npm run drill:cluster`. */
const KILLS = Number(process.env['VOLLEY_DRILL_KILLS'] ?? 1);
const SEED = Number(process.env['VOLLEY_DRILL_SEED'] ?? Date.now() % 1e9);
const WORKERS = ['w1', 'w2', 'w3'];
const TASK_MS = 500;

const TOOLS = `{define}
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
const work = (name, idempotent) => defineTool({
  name,
  idempotent,
  async run({ log, key }, { signal }) {
    appendFileSync(log, key + '\\n');
    await sleep(${TASK_MS}, undefined, { signal });
    return { key };
  },
});
export const repeatable = work('repeatable', true);
export const once = work('once', false);
`;

test(`a batch on workers (seed ${SEED}) loses nothing and repeats only what is idempotent while workers, coordinator and server are killed`, {
  timeout: 300_000 + KILLS * 120_000,
}, async () => {
  const random = seededRandom(SEED);
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const folder = project({
    'volley.toml': `[tools]\nmodules = ["./tools.mjs"]\n[limits]\nmax_concurrency = 4\n[cluster]\nurl = "${redis.url}"\n`,
    'tools.mjs': TOOLS,
  });
  await trustFolder(folder);
  const log = join(folder, 'log.txt');
  writeFileSync(log, '');
  const count = 100 + KILLS * 350;
  const tasks = Array.from({ length: count }, (_, index) => {
    const key = `k${index}`;
    return { id: key, function: index % 3 === 0 ? 'once' : 'repeatable', params: { log, key } };
  });
  writeFileSync(join(folder, 'b.json'), JSON.stringify({ max_concurrent: 12, tasks }));
  const env = { VOLLEY_CLUSTER_KEY: 'a key for this drill only' };

  const workers = new Map<string, ChildProcess>();
  const startWorker = (name: string) => {
    const child = startBuilt(folder, ['worker', '--name', name], { env });
    child.stdout!.resume();
    child.stderr!.resume();
    workers.set(name, child);
  };
  onTestFinished(() => {
    for (const child of workers.values()) child.kill('SIGKILL');
  });
  for (const name of WORKERS) startWorker(name);

  let run = startBuilt(folder, ['run', 'b.json', '--json'], { env });
  onTestFinished(() => void run.kill('SIGKILL'));
  let ended = endOf(run);
  const started = () => readFileSync(log, 'utf8').split('\n').length - 1;
  const isOver = () => run.exitCode !== null;
  const untilWork = async () => {
    const before = started();
    await expect.poll(() => isOver() || started() > before + 2, { timeout: 120_000 }).toBe(true);
  };

  const faults = {
    worker: async () => {
      const name = WORKERS[Math.floor(random() * WORKERS.length)]!;
      workers.get(name)!.kill('SIGKILL');
      // Its name is free when its lease has ended, so it comes back under another one.
      startWorker(`${name}x${workers.size}`);
    },
    zombie: async () => {
      const [, child] = [...workers].at(-1)!;
      child.kill('SIGSTOP');
      await sleep(9000 + random() * 2000);
      child.kill('SIGCONT');
    },
    server: async () => {
      await redis.kill();
      await sleep(random() * 2000);
      await redis.start();
    },
    coordinator: async () => {
      run.kill('SIGKILL');
      await ended;
      run = startBuilt(folder, ['run', 'b.json', '--json'], { env });
      ended = endOf(run);
    },
  };
  let injected = 0;
  for (let round = 0; round < KILLS; round++) {
    for (const fault of Object.values(faults)) {
      await untilWork();
      if (isOver()) break;
      await fault();
      injected++;
    }
  }
  const { status, stdout, stderr } = await ended;

  const store = await openStore(join(folder, '.volley/volley.db'));
  const records = await store.tasks('b', { limit: 10_000 }).finally(() => store.close());
  const runs = new Map<string, number>();
  for (const key of readFileSync(log, 'utf8').split('\n'))
    if (key !== '') runs.set(key, (runs.get(key) ?? 0) + 1);
  const failed = records.filter((task) => task.status === 'failed');
  const repeated = [...runs.values()].filter((times) => times > 1).length;
  console.log(
    JSON.stringify({ seed: SEED, tasks: count, failed: failed.length, repeated, injected, status }),
  );
  expect(injected).toBe(4 * KILLS);
  // Nothing is lost. What is not completed is not idempotent, and was interrupted.
  expect(records.length, stderr).toBe(count);
  const completed = records.filter((task) => task.status === 'completed');
  expect(completed.length + failed.length).toBe(count);
  expect(completed.filter(({ id }) => !runs.has(id)).map(({ id }) => id)).toEqual([]);
  expect(failed.map((task) => [task.function, task.reason])).toEqual(failed.map(() => ['once', 'crashed']));
  const repeatedOnce = records.filter((task) => task.function === 'once' && runs.get(task.id)! > 1);
  expect(repeatedOnce.map(({ id }) => id)).toEqual([]);
  expect(status, stdout + stderr).toBe(failed.length === 0 ? 0 : 1);
});
