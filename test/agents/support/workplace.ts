import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type ModelServer, startModelServer } from '../model-server/model-server.ts';
import type { Conversation, Script } from '../model-server/script.ts';
import { AGENTS_CACHE, installedAgent } from './installed.ts';
import type { RealAgent } from './real-agents.ts';

interface AgentRun {
  readonly status: number | null;
  readonly lines: readonly string[];
  readonly stderr: string;
}

interface RunOptions {
  readonly cwd: string;
  readonly input: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A home, a project and a model for one agent, apart from everything that the user has. All of it goes with the test. */
export interface Workplace {
  readonly home: string;
  readonly project: string;
  readonly model: ModelServer;
  /** What the agent starts with, and nothing of ours. */
  readonly env: Readonly<Record<string, string>>;
  run(argv: readonly string[], options: RunOptions): Promise<AgentRun>;
}

const LONGEST_MS = 400_000;

export async function workplaceFor(agent: RealAgent, script: Script): Promise<Workplace> {
  const bin = await installedAgent(agent);
  mkdirSync(AGENTS_CACHE, { recursive: true });
  // Codex makes no use of a home in the folder for temporary files, and this checkout may be there; nor does it start
  // anything where the home is behind a link, as in a checkout that shares its packages with another.
  const home = mkdtempSync(join(realpathSync(AGENTS_CACHE), 'home-'));
  const temporary = join(home, 'temporary');
  mkdirSync(temporary);
  const project = mkdtempSync(join(tmpdir(), 'volley-agents-'));
  const model = await startModelServer(script);
  onTestFinished(async () => {
    await model.close();
    for (const folder of [home, project]) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const env = {
    PATH: [bin, process.env['PATH']].join(delimiter),
    HOME: home,
    TMPDIR: temporary,
    LANG: 'C.UTF-8',
    NO_COLOR: '1',
    ...agent.setUp(home, model.url),
  };
  return {
    home,
    project,
    model,
    env,
    run: (argv, options) => run(argv, { ...options, env: { ...env, ...options.env } }),
  };
}

/** What a conversation has come to: the last one has all that was said. */
export function lastOf(model: ModelServer): Conversation {
  const last = model.conversations.at(-1);
  if (last === undefined)
    throw new Error(`The agent never asked its model. Other requests: ${model.unknown.join(', ')}`);
  return last;
}

async function run(
  [program, ...args]: readonly string[],
  { cwd, input, env }: RunOptions,
): Promise<AgentRun> {
  const child = spawn(program!, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text;
    });
  }
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), LONGEST_MS);
  const status = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  clearTimeout(timer);
  return { status, lines: output.stdout.split('\n'), stderr: output.stderr };
}
