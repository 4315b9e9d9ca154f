/**
 * A coding agent that does its work, and besides what the environment variable ATTACKS says: for each subtask the name
 * of one of the attacks below. It leaves what it was told in the folder that ATTACK_LOG names, in a file for each subtask.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const { ATTACKS, ATTACK_LOG, VOLLEY_TASKS_PROJECT: project, VOLLEY_FEATURE: feature } = process.env;
const { VOLLEY_SUBTASK: seq, VOLLEY_RUN_MAILBOX: mailbox, VOLLEY_RUN_TOKEN: token } = process.env;

const say = (what) => appendFileSync(join(ATTACK_LOG, `${seq}.jsonl`), `${JSON.stringify(what)}\n`);
const put = (path, text) => {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
};
const subtaskFile = (number) => join(project, '.tmp/tasks', feature, `subtask_${number}.json`);
const edit = (number, fields) => {
  const file = subtaskFile(number);
  const before = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  put(file, JSON.stringify({ ...before, ...fields }));
};
/** What `volley` answers, with another environment. */
const volley = (words, env = {}) => {
  const { status, stdout } = spawnSync('volley', [...words, '--json'], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  const answer = JSON.parse(stdout);
  say({ status, code: answer.error?.code ?? null, ok: answer.ok });
};
const complete = (number, env) => volley(['tasks', 'complete', feature, number, 'Done'], env);

const attacks = {
  'git hook': () => {
    const common = execFileSync('git', ['rev-parse', '--git-common-dir'], { encoding: 'utf8' }).trim();
    put(join(common, 'hooks/pre-commit'), '#!/bin/sh\ntouch pwned\n');
  },
  'git config': () => execFileSync('git', ['config', 'core.hooksPath', '/tmp/evil']),
  'own subtask': () => edit(seq, { status: 'completed', completion_summary: 'Trust me' }),
  'another subtask': () => edit('01', { status: 'completed', completion_summary: 'Trust me' }),
  'verification command': () => edit('01', { verification: [{ type: 'command', command: 'true' }] }),
  'new subtask': () => edit('99', { seq: '99', title: 'Evil', verification: ['touch pwned'] }),
  'pipe as subtask': () => execFileSync('mkfifo', [subtaskFile('99')]),
  'git folder': () => {
    renameSync('.git', 'evil');
    execFileSync('git', ['config', '-f', 'evil/config', 'core.fsmonitor', 'evil']);
    writeFileSync('.git', 'gitdir: evil\n');
  },
  'claude settings': () => put('.claude/settings.json', '{"hooks": {}}'),
  'wrong token': () => complete(seq, { VOLLEY_RUN_TOKEN: '0'.repeat(64) }),
  'no token': () => complete(seq, { VOLLEY_RUN_TOKEN: '', VOLLEY_RUN_MAILBOX: '' }),
  'subtask of another': () => complete('01'),
  force: () => volley(['tasks', 'complete', feature, seq, 'Done', '--force']),
  release: () => volley(['tasks', 'release', feature, seq]),
  /** Without the program: a request that nobody signed, and one that is no file. */
  'forged request': async () => {
    const id = randomBytes(8).toString('hex');
    const body = JSON.stringify({ action: 'complete', feature, seq, summary: 'x', force: true });
    writeFileSync(join(mailbox, `${id}.request`), JSON.stringify({ body, signature: '0'.repeat(64) }));
    const pipe = randomBytes(8).toString('hex');
    execFileSync('mkfifo', [join(mailbox, `${pipe}.request`)]);
    // Signed, but no request: an action that there is not, and nothing at all.
    const signed = [{ action: 'destroy', feature, seq, summary: 'x' }, null].map((request) => {
      const one = randomBytes(8).toString('hex');
      const text = JSON.stringify(request);
      const signature = createHmac('sha256', token).update(`${one}\n${text}`).digest('hex');
      writeFileSync(join(mailbox, `${one}.request`), JSON.stringify({ body: text, signature }));
      return one;
    });
    for (const one of [id, pipe, ...signed]) {
      const answer = join(mailbox, `${one}.answer`);
      while (!existsSync(answer)) await sleep(20);
      const { ok, code } = JSON.parse(readFileSync(answer, 'utf8'));
      say({ ok, code });
    }
  },
  /** Installs a package and commits, as agents do. */
  'ordinary work': () => {
    put('node_modules/left-pad/index.js', 'module.exports = 1;\n');
    execFileSync('git', ['add', `out-${seq}.txt`]);
    execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@localhost', 'commit', '-qm', 'work']);
    complete(seq);
  },
};

process.stdin.resume();
for await (const _ of process.stdin);
writeFileSync(`out-${seq}.txt`, 'work\n');
await attacks[JSON.parse(ATTACKS)[seq]]();
