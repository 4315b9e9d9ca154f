import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { buildProgram } from '../../e2e/support/built-program.ts';
import { amount } from '../../support/depth.ts';
import { project, put, texts } from '../support/feature.ts';
import { startProgram } from '../support/processes.ts';

const AGENTS = amount({ quick: 8, deep: 20 });
/** VOLLEY_TASKS_ROUNDS=50 for the long form. */
const ROUNDS = Number(process.env['VOLLEY_TASKS_ROUNDS'] ?? 3);

test(`${AGENTS} processes complete ${AGENTS} subtasks at once, and every one is recorded`, {
  timeout: 600_000,
}, async () => {
  const root = project();
  const modules = (await buildProgram()).moduleUrl('tasks');
  const agents = Array.from({ length: AGENTS }, () => startProgram('completer', [modules, root]));
  for (const agent of agents) expect(await agent.line()).toBe('ready');
  const seqs = agents.map((_, place) => String(place + 1).padStart(2, '0'));
  for (let round = 1; round <= ROUNDS; round++) {
    const feature = `round-${round}`;
    const subtasks = Object.fromEntries(seqs.map((seq) => [seq, { kept: `unknown ${seq}` }]));
    for (const [name, text] of texts(subtasks, { id: feature, subtask_count: AGENTS, completed_count: 0 })) {
      put(root, `.tmp/tasks/${feature}/${name}`, text);
    }
    const reading = readWhile(join(root, '.tmp/tasks', feature));
    for (const [place, agent] of agents.entries()) agent.send(`${feature} ${seqs[place]}`);
    const answers = await Promise.all(agents.map((agent) => agent.line()));
    await reading.stop();

    expect(answers).toEqual(agents.map(() => 'changed true'));
    const files = jsonFiles(join(root, '.tmp/tasks', feature));
    expect([...files.keys()]).toEqual([...seqs.map((seq) => `subtask_${seq}.json`), 'task.json']);
    for (const [place, seq] of seqs.entries()) {
      expect(files.get(`subtask_${seq}.json`)).toMatchObject({
        status: 'completed',
        completion_summary: `done by ${agents[place]!.pid}`,
        kept: `unknown ${seq}`,
      });
    }
    expect(files.get('task.json')).toMatchObject({
      status: 'completed',
      subtask_count: AGENTS,
      completed_count: AGENTS,
    });
  }
});

/** Reads the files again and again meanwhile: each must be whole every time. */
function readWhile(folder: string) {
  let isOn = true;
  const done = (async () => {
    while (isOn) {
      jsonFiles(folder);
      // The others must make progress, too.
      await sleep(20);
    }
  })();
  return {
    stop: () => {
      isOn = false;
      return done;
    },
  };
}

/** All files of a folder, which must be whole; those that are being written have other names. */
function jsonFiles(folder: string): Map<string, Record<string, unknown>> {
  const names = readdirSync(folder).filter((name) => !name.startsWith('.volley-'));
  return new Map(names.sort().map((name) => [name, JSON.parse(readFileSync(join(folder, name), 'utf8'))]));
}
