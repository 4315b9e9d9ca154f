/**
 * Behaves like an agent: reads its prompt, and does what the field `behaviour` of its subtask says. It tells of itself
 * in the file that AGENT_LOG names, a line of JSON for each event.
 */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const {
  VOLLEY_FEATURE: feature,
  VOLLEY_SUBTASK: seq,
  VOLLEY_TASKS_PROJECT: project,
  AGENT_LOG: log,
} = process.env;
const file = join(project, '.tmp/tasks', feature, `subtask_${seq}.json`);
const { behaviour = {}, deliverables = [] } = JSON.parse(readFileSync(file, 'utf8'));
const { kind = 'succeed', ms = 0, mark = false, files = [], meet = 0, after, hold, script } = behaviour;

let prompt = '';
for await (const chunk of process.stdin) prompt += chunk;

function note(event, more = {}) {
  if (log !== undefined) {
    const line = { event, seq, pid: process.pid, at: Date.now(), cwd: process.cwd(), ...more };
    appendFileSync(log, `${JSON.stringify(line)}\n`);
  }
}

function write(path) {
  mkdirSync(dirname(join(process.cwd(), path)), { recursive: true });
  writeFileSync(path, `made by ${seq}\n`);
}

function deliver() {
  for (const path of [...deliverables, ...files]) write(path);
  console.log(`Wrote ${deliverables.join(', ')}`);
}

/** Says now and then that it still lives. */
async function markDone(...options) {
  const words = ['tasks', 'complete', feature, seq, `Did ${seq} well`, ...options];
  const timer = setInterval(() => console.log('Still at it'), 500);
  await promisify(execFile)('volley', words).catch((error) =>
    note('refused', { text: String(error.stderr) }),
  );
  clearInterval(timer);
}

const behaviours = {
  succeed: deliver,
  fail: () => {
    console.error('\x1b[31mThe compiler\x1b[0m is missing');
    process.exitCode = 3;
  },
  lie: () => console.log('All done, everything works!'),
  'lie-and-force': () => markDone('--force'),
  'mark-and-break': async () => {
    deliver();
    await markDone();
    for (const path of deliverables) writeFileSync(path, '');
  },
  crash: () => process.kill(process.pid, 'SIGKILL'),
  hang: async () => {
    // A child of its own, which must not outlive it either.
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    note('child', { child: child.pid });
    await new Promise(() => setInterval(() => {}, 1000));
  },
  'mark-and-hang': async () => {
    deliver();
    await markDone();
    await behaviours.hang();
  },
  /** Fails once, and then does what it was told that it lacked. */
  learn: () => {
    if (existsSync(join(project, `tried-${seq}`))) deliver();
    else writeFileSync(join(project, `tried-${seq}`), '');
  },
  /** Runs a shell script, and shows what it prints. */
  script: () => {
    const { status } = spawnSync('/bin/sh', ['-c', script], { stdio: 'inherit' });
    process.exitCode = status ?? 1;
  },
  /** Uses more than its budget with its work done, in the words of Claude Code. */
  'spend-and-deliver': async () => {
    deliver();
    await behaviours.spend();
  },
  /** One that tells in the words of Claude Code what it uses, and does not end by itself. */
  spend: async () => {
    for (let turn = 1; turn <= 100; turn++) {
      const usage = { input_tokens: 900, output_tokens: 100 };
      const message = {
        id: `m${turn}`,
        role: 'assistant',
        content: [{ type: 'text', text: `Turn ${turn}` }],
        usage,
      };
      console.log(JSON.stringify({ type: 'assistant', message }));
      await sleep(20);
    }
    await new Promise(() => setInterval(() => {}, 1000));
  },
};

/** Goes on when so many have begun: those who do not run at once wait in vain. */
async function untilMet() {
  const begun = () =>
    readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"start"')).length;
  for (const deadline = Date.now() + 120_000; begun() < meet; await sleep(10)) {
    if (Date.now() > deadline) throw new Error(`${begun()} of ${meet} have begun`);
  }
}

/** Waits for another subtask to be completed. */
async function untilCompleted(other) {
  const path = join(project, '.tmp/tasks', feature, `subtask_${other}.json`);
  for (const deadline = Date.now() + 120_000; Date.now() < deadline; await sleep(50)) {
    if (JSON.parse(readFileSync(path, 'utf8')).status === 'completed') return;
  }
}

note('start', { prompt });
if (meet > 0) await untilMet();
if (after !== undefined) await untilCompleted(after);
// Until the test puts this file into the project.
while (hold !== undefined && !existsSync(join(project, hold))) await sleep(20);
if (ms > 0) await sleep(ms);
await behaviours[kind]();
if (mark) await markDone();
note('end');
