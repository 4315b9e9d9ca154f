import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../src/store/sqlite-store.ts';
import { say } from '../cli/support/program.ts';
import { trustFolder } from '../support/trust.ts';
import { git, repository } from '../tasks/workspace/support.ts';
import { endOf, runBuilt, startBuilt } from './support/built-volley.ts';

const FILES = 200;
const SCHEMA = {
  type: 'object',
  required: ['file', 'risk'],
  properties: { file: { type: 'string' }, risk: { type: 'integer', minimum: 0, maximum: 9 } },
  additionalProperties: false,
};

/**
 * Answers like Claude Code. Every tenth file gets an answer that is not valid until it is asked for again, and every
 * twentieth is refused once because of a rate limit. Each start is logged.
 */
const AGENT = `#!/bin/sh
again=no
while IFS= read -r line; do
  case $line in
    '- files/'*) file=\${line#- files/} ;;
    *'was not accepted'*) again=yes ;;
  esac
done
say() {
  printf '{"type":"result","subtype":"success","is_error":%s,"num_turns":1,"total_cost_usd":0.001,' "$1"
  printf '"usage":{"input_tokens":90,"output_tokens":10},"result":"%s"}\\n' "$2"
}
case $file in
  ??3.txt) [ $again = no ] && { echo "$file invalid" >>asked.log; say false 'Looks fine to me.'; exit; } ;;
  ?[02468]5.txt) mkdir "limited/$file" 2>/dev/null && { echo "$file limited" >>asked.log; say true 'API Error: 429 Too Many Requests, try again in 1 ms'; exit 1; } ;;
esac
echo "$file valid" >>asked.log
say false "{\\\\\\"file\\\\\\":\\\\\\"$file\\\\\\",\\\\\\"risk\\\\\\":1}"
`;

interface Asked {
  readonly file: string;
  readonly what: string;
}

/** A folder with the files, and an agent that answers questions about them. */
async function projectOfFiles() {
  const folder = mkdtempSync(join(tmpdir(), 'volley-asking-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const put = (name: string, text: string, mode = 0o644) => writeFileSync(join(folder, name), text, { mode });
  mkdirSync(join(folder, 'files'));
  mkdirSync(join(folder, 'limited'));
  const names = Array.from({ length: FILES }, (_, index) => `${String(index).padStart(3, '0')}.txt`);
  for (const name of names) put(join('files', name), `text of ${name}\n`);
  put('agent.sh', AGENT, 0o755);
  put('schema.json', JSON.stringify(SCHEMA));
  put('asked.log', '');
  put(
    'volley.toml',
    `[tools.ask_agent]\nenabled = true\n\n[tasks.agents.reader]\nadapter = "claude"\ncommand = ["${join(folder, 'agent.sh')}"]\n`,
  );
  await trustFolder(folder);
  const asked = (): Asked[] =>
    readFileSync(join(folder, 'asked.log'), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => ({ file: line.split(' ')[0]!, what: line.split(' ')[1]! }));
  return { folder, names, asked };
}

/** The files whose answers are stored. */
async function acceptedIn(folder: string): Promise<Set<string>> {
  const store = await openStore(join(folder, '.volley/volley.db'));
  try {
    const done = await store.tasks('review', { status: ['completed'], limit: 1000 });
    return new Set(done.map(({ name }) => name.replace('files/', '')));
  } finally {
    await store.close();
  }
}

test('200 files get valid answers despite invalid ones, rate limits and a kill, and none is asked for twice', async () => {
  const { folder, names, asked } = await projectOfFiles();
  const ask = ['run', '--each', 'files/*.txt', '--ask', 'How risky is {}?', '--agent', 'reader'];
  const command = [...ask, '--schema', 'schema.json', '--batch', 'review', '--max-concurrent', '6'];

  const killed = startBuilt(folder, command);
  const ended = endOf(killed);
  await expect.poll(() => asked().length).toBeGreaterThan(60);
  killed.kill('SIGKILL');
  await ended;
  const accepted = await acceptedIn(folder);
  const before = asked().length;
  expect(accepted.size).toBeGreaterThan(0);
  expect(accepted.size).toBeLessThan(FILES);

  const { status, stderr } = await runBuilt(folder, command);
  expect(status, stderr).toBe(0);
  const again = asked().slice(before);
  expect(again.filter(({ file }) => accepted.has(file))).toEqual([]);
  // Only what was under way when it was killed may have been answered twice.
  const valid = asked().filter(({ what }) => what === 'valid');
  expect(new Set(valid.map(({ file }) => file))).toEqual(new Set(names));
  expect(valid.length).toBeLessThanOrEqual(FILES + 6);
  expect(asked().filter(({ what }) => what === 'limited')).toHaveLength(FILES / 20);

  await say(folder, ['export', '--batch', 'review', '--output-file', 'answers.csv']);
  const [head, ...rows] = readFileSync(join(folder, 'answers.csv'), 'utf8').trim().split('\r\n');
  expect(head).toMatch(/,answer\.file,answer\.risk,result$/);
  expect(rows).toHaveLength(FILES);
  for (const [index, row] of rows.entries())
    expect(row).toContain(`,${names[index]},1,"{""answer"":{""file"":""${names[index]}"",""risk"":1}`);
});

test('worktrees and temporary folders of a killed process are removed by the next one, which does the work again', async () => {
  const folder = repository({ 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c' });
  const tmp = join(folder, '.git/tmp');
  mkdirSync(tmp);
  const go = join(folder, '.git/go');
  const script = `echo x >new; while [ ! -e ${go} ]; do sleep 0.05; done; echo fine`;
  const agent = `[tasks.agents.doer]\ncommand = ["/bin/sh", "-c", "${script}"]\n`;
  const toml = `[tools.ask_agent]\nenabled = true\nworktrees = true\n\n${agent}`;
  writeFileSync(join(folder, 'volley.toml'), toml);
  await trustFolder(folder);
  const ask = ['run', '--each', '*.txt', '--ask', 'Improve {}', '--agent', 'doer', '--worktrees'];
  const env = { TMPDIR: tmp };
  const asks = () => readdirSync(join(folder, '.volley/asks')).filter((name) => /^\w{8}$/.test(name));
  const branches = () => git(folder, 'for-each-ref', '--format=%(refname:short)', 'refs/heads/volley');

  const killed = startBuilt(folder, ask, { env });
  const ended = endOf(killed);
  const isWorking = (id: string) => readdirSync(join(folder, '.volley/asks', id)).includes('new');
  await expect.poll(() => asks().filter(isWorking).length, { timeout: 120_000 }).toBe(3);
  killed.kill('SIGKILL');
  await ended;
  expect(asks()).toHaveLength(3);
  const left = readdirSync(tmp).filter((name) => name.includes(`-${killed.pid}-`));
  expect(left.length).toBeGreaterThan(0);

  writeFileSync(go, '');
  const { status, stderr } = await runBuilt(folder, ask, { env });
  expect(status, stderr).toBe(0);
  expect(asks()).toEqual([]);
  expect(readdirSync(tmp).filter((name) => left.includes(name))).toEqual([]);
  expect(branches().split('\n')).toHaveLength(3);
  expect(git(folder, 'worktree', 'list').split('\n')).toHaveLength(1);
});
