import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { AgentEvent } from '../../../src/agents/adapter.ts';
import { adapterFor } from '../../../src/agents/adapters.ts';
import type { RealAgent } from './real-agents.ts';
import type { Workplace } from './workplace.ts';

/** What came of an agent that was started as a run starts it. */
export interface Attempt {
  /** Where it worked, and what it was given for its state. */
  readonly folder: string;
  readonly state: string;
  readonly status: number | null;
  readonly events: readonly AgentEvent[];
  readonly lines: readonly string[];
  /** All that it wrote, for a test that fails. */
  readonly about: string;
}

/** Where it is noted that an agent said that it was done. */
export function mailboxIn({ home }: Workplace): string {
  return join(home, 'mailbox');
}

/** Starts an agent by its adapter, in a folder of this name. */
export async function attempt(agent: RealAgent, workplace: Workplace, name: string): Promise<Attempt> {
  const { project, run } = workplace;
  const env = runEnvironment(workplace);
  const folder = join(project, name);
  const state = join(project, `${name}-state`);
  for (const made of [folder, state]) mkdirSync(made);
  const adapter = adapterFor(agent.name)!;
  const command = await adapter.command({
    prompt: `Work in ${folder} only.`,
    cwd: folder,
    stateFolder: state,
    writes: true,
    mailbox: mailboxIn(workplace),
    env,
    model: undefined,
    deniedPaths: ['**/*.env*', 'node_modules/**'],
    allowedCommands: [],
    maxTurns: 20,
  });
  const { status, lines, stderr } = await run(command.argv, {
    cwd: folder,
    input: command.input ?? '',
    env: { ...env, ...command.env },
  });
  const reader = adapter.reader();
  const events = [...lines.flatMap((line) => reader.line(line)), ...reader.end()];
  return { folder, state, status, events, lines, about: `${lines.join('\n')}\n${stderr}` };
}

/** The environment that a run gives its agents: a `volley` of its own, and a project elsewhere that it works for. */
function runEnvironment(workplace: Workplace): Readonly<Record<string, string>> {
  const bin = join(workplace.home, 'bin');
  for (const folder of [bin, mailboxIn(workplace)]) mkdirSync(folder, { recursive: true });
  const notes = '#!/bin/sh\n[ "$1 $2" = "tasks complete" ] && touch "$VOLLEY_RUN_MAILBOX/$4"\n';
  writeFileSync(join(bin, 'volley'), notes, { mode: 0o755 });
  return {
    ...workplace.env,
    PATH: [bin, workplace.env['PATH']].join(delimiter),
    VOLLEY_TASKS_PROJECT: join(workplace.home, 'project'),
    VOLLEY_RUN_MAILBOX: mailboxIn(workplace),
  };
}
