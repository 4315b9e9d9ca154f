import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, test as testOfAgent } from 'vitest';
import type { AgentEvent } from '../../src/agents/adapter.ts';
import { buildProgram } from '../e2e/support/built-program.ts';
import { serveBuilt } from '../security/support/built-server.ts';
import { isDeep } from '../support/depth.ts';
import { git } from '../tasks/workspace/support.ts';
import {
  type Conversation,
  exhaustedAtFirst,
  inOrder,
  type Script,
  type ToolCall,
  USAGE,
} from './model-server/script.ts';
import { attempt, mailboxIn } from './support/attempt.ts';
import { keepStream } from './support/captured.ts';
import { CHOSEN_AGENTS } from './support/chosen.ts';
import { installedAgent } from './support/installed.ts';
import type { RealAgent } from './support/real-agents.ts';
import { lastOf, type Workplace, workplaceFor } from './support/workplace.ts';

const { main } = await buildProgram();
const TIMEOUT_MS = 600_000;
const LAST_WORD = 'The file is written.';
const BATCH = {
  tasks: [
    {
      id: 'note',
      for_each: ['a', 'b'],
      function: 'write_file',
      params: { path: '${item}.txt', content: 'kept by a batch' },
    },
    { id: 'again', function: 'read_file', params: { path: 'b.txt' }, depends_on: ['note'] },
  ],
  return: '`${note.length} notes, ${again.content}`',
};
const PROGRAM = {
  code: `const notes = await Promise.all(['a', 'b'].map((name) => tools.read_file({ path: name + '.txt' })));
return notes.map((note) => note.content + ', read by a program').join('; ');`,
};
/** What a model asks for, in this order. */
const ASKED = [
  [/run_batch$/, BATCH],
  [/run_program$/, PROGRAM],
] as const;
const MAX_WAITS = 60;

beforeAll(() => Promise.all(CHOSEN_AGENTS.map(installedAgent)), TIMEOUT_MS);

/** A drill and the deep mode give every test to each agent; `npm test` gives each test to one of them, in turn. */
const isDrill = isDeep || process.env['VOLLEY_DRILL_AGENTS'] !== undefined;

describe.each(CHOSEN_AGENTS.map((agent) => [agent.name, agent] as const))('%s from npm', (_, agent) => {
  let turn = CHOSEN_AGENTS.indexOf(agent) + 1;
  const test = (name: string, options: { timeout: number }, run: () => Promise<void>): void => {
    if (turn++ % CHOSEN_AGENTS.length === 0 || isDrill) testOfAgent(name, options, run);
  };

  test('does what its model asks for, keeps to its rules, and tells what it did and used, two at once', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const script: Script = (conversation) =>
      inOrder(() => callsIn(agent, folderIn(conversation)), LAST_WORD)(conversation);
    const workplace = await workplaceFor(agent, script);

    const attempts = await Promise.all(['one', 'two'].map((name) => attempt(agent, workplace, name)));

    for (const { folder, state, status, events, about } of attempts) {
      expect(status, about).toBe(0);
      expect(textIn(join(folder, 'out.txt')), about).toBe('hello');
      expect(existsSync(join(mailboxIn(workplace), basename(folder))), about).toBe(true);
      // What an agent cannot be told is found out afterwards, by what it touched.
      expect(existsSync(join(folder, 'refused.txt')), about).toBe(!agent.keepsRules);
      expect(existsSync(join(folder, 'a/b.env')), about).toBe(!agent.keepsRules);
      const said = events.map(wordsOf).filter((words) => words !== '');
      expect(said).toContainEqual(expect.stringContaining('out.txt'));
      expect(said.at(-1)).toBe(LAST_WORD);
      const used = events.findLast(({ type }) => type === 'usage');
      expect(used, about).toMatchObject({ inputTokens: 5 * USAGE.input, outputTokens: 5 * USAGE.output });
      const results = events.filter(({ type }) => type === 'result');
      expect(results).toEqual([{ type: 'result', ok: true, text: LAST_WORD }]);
      expect(readdirSync(state), 'what it keeps, in a place of its own').not.toEqual([]);
    }
    keepStream(agent, attempts[0]!.lines, workplace);
  });

  test('ends when its model refuses, and says that it failed and why', { timeout: TIMEOUT_MS }, async () => {
    const workplace = await workplaceFor(agent, () => ({ refusal: 'no such model today' }));

    const { events, lines, about } = await attempt(agent, workplace, 'one');

    const results = events.filter(({ type }) => type === 'result');
    const text = expect.stringContaining('no such model today') as string;
    expect(results, about).toMatchObject([{ type: 'result', ok: false, text }]);
    keepStream(agent, lines, workplace, '-failed');
  });

  test('does two subtasks of a feature in worktrees, knows of its sibling, and leaves a transcript', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { project, run } = await workplaceFor(agent, (conversation) =>
      inOrder(() => subtaskCalls(agent, conversation), LAST_WORD)(conversation),
    );
    featureIn(project);

    const argv = [process.execPath, main, 'tasks', 'run', 'demo', '--agent', agent.name, '--worktrees'];
    const { status, lines, stderr } = await run(argv, { cwd: project, input: '' });

    const said = lines.join('\n');
    expect(status, `${said}\n${stderr}`).toBe(0);
    expect(said).toContain('ALL COMPLETED');
    for (const seq of ['01', '02']) {
      expect(readFileSync(join(project, `out-${seq}.txt`), 'utf8')).toBe('hello');
      // The agent's own words, not those that Volley has where an agent says nothing.
      expect(said).toContain(`Summary: Wrote ${seq}`);
      const sibling = seq === '01' ? '02' : '01';
      const transcript = transcriptOf(project, seq);
      // Each is told of the other, whichever starts first.
      expect(transcript.find(({ type }) => type === 'prompt')?.text).toContain(`out-${sibling}.txt`);
      const tools = transcript.filter(({ type }) => type === 'tool').map(({ detail = '' }) => detail);
      expect(tools).toEqual([
        expect.stringContaining('pwd'),
        expect.stringContaining(`out-${seq}.txt`),
        expect.stringContaining('volley tasks complete'),
      ]);
      const outputs = transcript.filter(({ type, ok }) => type === 'output' && ok).map(({ text }) => text);
      expect(outputs).toContainEqual(expect.stringContaining(`worktrees/demo-${seq}`));
      expect(transcript.at(-1)).toMatchObject({ type: 'end', ok: true, text: `Wrote ${seq}` });
    }
  });

  test('is paused while its account is used up, and then does its subtask with the attempt that it had', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const script: Script = (conversation) =>
      inOrder(() => subtaskCalls(agent, conversation), LAST_WORD)(conversation);
    const { project, run } = await workplaceFor(agent, exhaustedAtFirst(script, 1000));
    featureIn(project, ['01']);

    const argv = [process.execPath, main, 'tasks', 'run', 'demo', '--agent', agent.name, '--worktrees'];
    const options = ['--max-retries', '0', '--json'];
    const { status, lines, stderr } = await run([...argv, ...options], { cwd: project, input: '' });

    expect(status, `${lines.join('\n')}\n${stderr}`).toBe(0);
    const { statistics, history } = JSON.parse(lines[0]!);
    expect(statistics).toMatchObject({ completed: 1, failed: 0, attempts: 1 });
    const started: readonly { readonly error: string | null }[] = history.attempts;
    const refused = started.filter(({ error }) => error !== null).length;
    if (agent.waitsForLimits) expect(refused).toBe(0);
    else expect(refused).toBeGreaterThan(0);
    expect(started.length - refused).toBe(1);
  });

  test('answers questions about files as data, is asked again if it does not, and changes nothing', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { project, run } = await workplaceFor(agent, ({ tools, results, text }) => {
      if (tools.length === 0) return { text: 'Fine.' };
      if (results.length === 0) return { call: agent.writeCall(join(project, 'made.txt'), 'not allowed') };
      if (results.length === 1) return { call: agent.shellCall(`cp first.txt ${join(project, 'made.txt')}`) };
      const isRight = text.includes('risky is second.txt') || text.includes('was not accepted');
      return { text: isRight ? 'Here:\n```json\n{"risk":1}\n```' : 'It looks fine.' };
    });
    for (const name of ['first.txt', 'second.txt']) writeFileSync(join(project, name), 'text');
    const schema = { type: 'object', required: ['risk'], properties: { risk: { type: 'integer' } } };
    writeFileSync(join(project, 'schema.json'), JSON.stringify(schema));

    const ask = ['run', '--each', '*.txt', '--ask', 'How risky is {}?', '--schema', 'schema.json'];
    const argv = [process.execPath, main, ...ask, '--agent', agent.name, '--batch', 'risks', '--json'];
    const env = { VOLLEY_TOOLS_ASK_AGENT_ENABLED: 'true' };
    const { status, lines, stderr } = await run(argv, { cwd: project, input: '', env });

    expect(status, `${lines.join('\n')}\n${stderr}`).toBe(0);
    const show = [process.execPath, main, 'results', '--batch', 'risks', '--format', 'json', '--json'];
    const { data } = JSON.parse((await run(show, { cwd: project, input: '', env })).lines[0]!);
    const results = data.results.map(({ name, result }: { name: string; result: object }) => ({
      name,
      ...result,
    }));
    expect(results).toMatchObject([
      { name: 'first.txt', answer: { risk: 1 }, asks: 2 },
      { name: 'second.txt', answer: { risk: 1 }, asks: 1 },
    ]);
    expect(results[1].usage.input_tokens).toBeGreaterThanOrEqual(3 * USAGE.input);
    expect(existsSync(join(project, 'made.txt'))).toBe(false);
  });

  test('changes files in a worktree of its own when it is asked to, and nowhere else', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { project, run } = await workplaceFor(agent, (conversation) => {
      const folder = /\/[^\s"\\]*asks[^\s"\\]*/.exec(conversation.results[0] ?? '')?.[0] ?? '';
      const calls = [agent.shellCall('pwd'), agent.writeCall(join(folder, 'made.txt'), 'hello')];
      return inOrder(() => calls, LAST_WORD)(conversation);
    });
    writeFileSync(join(project, 'first.txt'), 'text');
    git(project, 'init', '-q');
    git(project, 'add', '-A');
    git(project, 'commit', '-q', '-m', 'first');

    const ask = ['run', '--each', '*.txt', '--ask', 'Improve {}.', '--worktrees', '--batch', 'made'];
    const argv = [process.execPath, main, ...ask, '--agent', agent.name, '--json'];
    const env = { VOLLEY_TOOLS_ASK_AGENT_ENABLED: 'true', VOLLEY_TOOLS_ASK_AGENT_WORKTREES: 'true' };
    const { status, lines, stderr } = await run(argv, { cwd: project, input: '', env });

    expect(status, `${lines.join('\n')}\n${stderr}`).toBe(0);
    const branch = git(project, 'for-each-ref', '--format=%(refname)', 'refs/heads/volley/ask');
    expect(git(project, 'show', '--format=', '--name-only', branch)).toBe('made.txt');
    expect(git(project, 'status', '--porcelain')).not.toContain('made.txt');
    expect(git(project, 'worktree', 'list').split('\n')).toHaveLength(1);
  });

  if (agent.mcp === undefined) return;
  const { client, argv, overHttp } = agent.mcp;
  test('runs a batch and a program that its model asks for, set up by `volley mcp install`, and tells it the results', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const workplace = await workplaceFor(agent, onceOffered(agent));
    const { project, run } = workplace;
    installVolley(project);
    const install = [process.execPath, main, 'mcp', 'install', client, '--yes'];
    expect(await run(install, { cwd: project, input: '' })).toMatchObject({ status: 0 });

    await runsBoth(workplace, argv);
  });

  if (overHttp === undefined) return;
  test('runs the same over HTTP', { timeout: TIMEOUT_MS }, async () => {
    const workplace = await workplaceFor(agent, onceOffered(agent));
    const { project } = workplace;
    const { url, token } = await serveBuilt(project);
    const [program, ...args] = argv;
    const input = args.at(-1) === '-' ? ['-'] : [];
    const rest = args.slice(0, args.length - input.length);

    await runsBoth(workplace, [program!, ...rest, ...overHttp(project, `${url}/mcp`, token), ...input]);
  });
});

/** Asks an agent, whose model then wants a batch and a program. */
async function runsBoth({ project, model, run }: Workplace, argv: readonly string[]): Promise<void> {
  const ended = await run(argv, { cwd: project, input: 'Write the notes with one batch, then read them.' });
  const about = `${ended.lines.join('\n')}\n${ended.stderr}`;
  const results = lastOf(model).results.join('\n');
  expect(results, about).toContain('2 notes, kept by a batch');
  expect(results, about).toContain('kept by a batch, read by a program; kept by a batch, read by a program');
  expect(readFileSync(join(project, 'b.txt'), 'utf8')).toBe('kept by a batch');
  expect(ended.status, about).toBe(0);
}

function callsIn(agent: RealAgent, folder: string): readonly ToolCall[] {
  return [
    agent.writeCall(join(folder, 'out.txt'), 'hello'),
    agent.shellCall(`volley tasks complete demo ${basename(folder)} Done`),
    agent.shellCall(`mkdir -p ${join(folder, 'a')} && cp out.txt ${join(folder, 'refused.txt')}`),
    agent.writeCall(join(folder, 'a/b.env'), 'KEY=1'),
  ];
}

/** The prompt says which of the two asks. */
function folderIn({ text }: Conversation): string {
  return /Work in (\S+) only/.exec(text)?.[1] ?? '';
}

/** What a subtask of the feature takes. Agents are told no folder: they find out where they are. */
function subtaskCalls(agent: RealAgent, { text, results }: Conversation): readonly ToolCall[] {
  const seq = /Subtask (\d+)/.exec(text)?.[1];
  const folder = /\/[^\s"\\]*worktrees[^\s"\\]*/.exec(results[0] ?? '')?.[0] ?? '';
  return [
    agent.shellCall('pwd'),
    agent.writeCall(join(folder, `out-${seq}.txt`), 'hello'),
    agent.shellCall(`volley tasks complete demo ${seq} "Wrote ${seq}"`),
  ];
}

interface TranscriptLine {
  readonly type: string;
  readonly ok?: boolean;
  readonly text?: string;
  readonly detail?: string;
}

function transcriptOf(project: string, seq: string): readonly TranscriptLine[] {
  const text = readFileSync(join(project, `.volley/transcripts/demo/${seq}/1.jsonl`), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as TranscriptLine);
}

/** A repository with a feature. */
function featureIn(project: string, seqs = ['01', '02']): void {
  const tasks = join(project, '.tmp/tasks/demo');
  mkdirSync(tasks, { recursive: true });
  writeFileSync(join(project, '.gitignore'), '.tmp\n.volley\n');
  writeFileSync(join(tasks, 'task.json'), JSON.stringify({ id: 'demo', name: 'Demo' }));
  for (const seq of seqs) {
    const subtask = { title: `File ${seq}`, parallel: true, deliverables: [`out-${seq}.txt`] };
    writeFileSync(join(tasks, `subtask_${seq}.json`), JSON.stringify(subtask));
  }
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: project });
  git('init', '--quiet');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'Begin');
}

function textIn(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

function wordsOf(event: AgentEvent): string {
  if (event.type === 'tool') return `${event.name} ${event.detail ?? ''}`;
  return event.type === 'text' ? event.text : '';
}

/** Agents may ask their model before all servers have started. The model passes the time until it has its tool. */
function onceOffered({ shellCall }: RealAgent): Script {
  let asked = 0;
  return ({ tools, results }) => {
    const next = ASKED[asked];
    if (tools.length === 0 || next === undefined || results.length > MAX_WAITS)
      return { text: 'It is done.' };
    const [wanted, given] = next;
    const name = tools.find((offered) => wanted.test(offered));
    // Some agents offer the tools of servers only to a model that searches for them.
    if (name === undefined && tools.includes('tool_search') && results.length % 2 === 0)
      return {
        call: {
          name: 'tool_search',
          arguments: { query: 'select:mcp__volley__run_batch,mcp__volley__run_program' },
        },
      };
    if (name === undefined) return { call: shellCall('sleep 1') };
    asked++;
    return { call: { name, arguments: given } };
  };
}

/** What an entry for a project starts is what the project has installed. */
function installVolley(project: string): void {
  const bin = join(project, 'node_modules/.bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(project, 'package.json'), '{ "private": true }');
  const start = `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`;
  writeFileSync(join(bin, 'volley'), start, { mode: 0o755 });
}
