import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { seededRandom } from '../../../src/core/random.ts';
import { openStore } from '../../../src/store/sqlite-store.ts';
import { trustFolder } from '../../support/trust.ts';
import { endOf, startBuilt } from '../support/built-volley.ts';
import { project } from '../support/project.ts';

/** The long form is `npm run drill:programs`. */
const KILLS = Number(process.env['VOLLEY_DRILL_KILLS'] ?? 3);
const SEED = Number(process.env['VOLLEY_DRILL_SEED'] ?? Date.now() % 1e9);
/** How long a killed process may have run. A program takes about as long. */
const MAX_MS = 2500;
const CALLS = 200;

/** Writes a line when a call runs and takes a while that only its id decides. */
const TOOLS = `{define}
import { appendFileSync } from 'node:fs';
export const step = defineTool({
  name: 'step',
  idempotent: true,
  run: async ({ id }) => {
    appendFileSync('ran', id + '\\n');
    await new Promise((resolve) => setTimeout(resolve, (id * 7919) % 23));
    return { id };
  },
});`;

/** 80 calls at once, a race of 20 with what follows from its winner, ten chains of 5, and 50 one after another. */
const PROGRAM = `
const from = (first, count) => Array.from({ length: count }, (_, index) => first + index);
const step = async (id) => (await tools.step({ id })).id;
const all = await Promise.all(from(0, 80).map(step));
const racing = from(80, 20).map(step);
const winner = await Promise.race(racing);
log('winner ' + winner);
await Promise.all(racing);
const chains = await Promise.all(from(0, 10).map(async (chain) => {
  let last = 0;
  for (const id of from(100 + 5 * chain, 5)) last = await step(id);
  return last;
}));
let sum = 0;
for (const id of from(150, 50)) sum += await step(id + 1000 * winner) % 1000;
return { all: all.length, winner, chains, sum, random: Math.random(), at: Date.now() };
`;

test(`programs that are killed again and again (seed ${SEED}) run no call again that has ended, and end with the right value`, {
  timeout: 300_000 + KILLS * 30_000,
}, async () => {
  const random = seededRandom(SEED);
  let kills = 0;
  for (let number = 1; kills < KILLS; number++) {
    const folder = project({
      'volley.toml': '[tools]\nmodules = ["./tools.mjs"]\n',
      'tools.mjs': TOOLS,
      'drill.mjs': PROGRAM,
      ran: '',
    });
    await trustFolder(folder);
    const run = () => startBuilt(folder, ['run', 'drill.mjs', '--json']);
    const ranBefore = new Map<string, number>();
    for (;;) {
      const child = run();
      onTestFinished(() => void child.kill('SIGKILL'));
      const ended = endOf(child);
      const wasKilled = kills < KILLS && (await killedAfter(child, 400 + random() * MAX_MS));
      const { status, stdout, stderr } = await ended;
      if (wasKilled) {
        kills++;
        const counts = runsOf(folder);
        for (const id of await endedCalls(folder)) ranBefore.set(id, counts.get(id) ?? 0);
        continue;
      }
      expect(status, `${stderr}\n${stdout}`).toBe(0);
      const { returned } = JSON.parse(stdout).data;
      expect(returned).toMatchObject({
        all: 80,
        chains: [104, 109, 114, 119, 124, 129, 134, 139, 144, 149],
        sum: (150 + 199) * 25,
      });
      const counts = runsOf(folder);
      expect(counts.size).toBe(CALLS);
      for (const [id, count] of ranBefore)
        expect(counts.get(id), `program ${number}, call ${id}`).toBe(count);
      break;
    }
  }
  expect(kills).toBe(KILLS);
});

/** Kills a process after a time. Returns false if it ended before. */
async function killedAfter(child: ReturnType<typeof startBuilt>, ms: number): Promise<boolean> {
  const exited = once(child, 'exit');
  const timer = setTimeout(() => child.kill('SIGKILL'), ms);
  await exited;
  clearTimeout(timer);
  return child.signalCode === 'SIGKILL';
}

/** How often each call has run. */
function runsOf(folder: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const id of readFileSync(join(folder, 'ran'), 'utf8').split('\n').filter(Boolean))
    counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

/** The calls whose end is stored, by the id that they were called with. */
async function endedCalls(folder: string): Promise<string[]> {
  const store = await openStore(join(folder, '.volley/volley.db'));
  try {
    const tasks = await store.tasks('drill', { status: ['completed'], limit: 1000 });
    return tasks.flatMap(({ id, params }) => (id.includes('[') ? [String(JSON.parse(params).id)] : []));
  } finally {
    await store.close();
  }
}
