import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ErrorCode, VolleyError } from '../../core/errors.ts';
import { AGENT_VARIABLE } from '../files/task-place.ts';
import { type AgentRequest, MAILBOX_VARIABLE, type RunAnswer, sign, TOKEN_VARIABLE } from './message.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const PAUSE_MS = 50;

/** Whether this process belongs to an agent of a run, which changes no files of tasks by itself. */
export function isAgentOfRun(env: Environment): boolean {
  return Boolean(env[AGENT_VARIABLE] || env[MAILBOX_VARIABLE] || env[TOKEN_VARIABLE]);
}

/**
 * Leaves a request for the run that this process works for, and waits for its answer. Verifying work may take as long
 * as its commands do. Throws what the run refuses.
 */
export async function askRun<T extends object = Readonly<Record<string, unknown>>>(
  env: Environment,
  request: AgentRequest,
  signal?: AbortSignal,
): Promise<{ readonly data: T; readonly text: string }> {
  const { [MAILBOX_VARIABLE]: folder, [TOKEN_VARIABLE]: token } = env;
  if (!folder || !token) throw unanswered(request);
  const id = randomBytes(8).toString('hex');
  const place = join(folder, id);
  try {
    await writeFile(`${place}.draft`, JSON.stringify(sign(token, id, request)));
    await rename(`${place}.draft`, `${place}.request`);
  } catch (error) {
    throw unanswered(request, error);
  }
  for (;;) {
    const text = await readFile(`${place}.answer`, 'utf8').catch(() => undefined);
    if (text !== undefined) return answered<T>(JSON.parse(text) as RunAnswer);
    if (!existsSync(folder)) throw unanswered(request);
    await sleep(PAUSE_MS, undefined, { ...(signal !== undefined && { signal }) });
  }
}

/** Refuses what is not for an agent of a run to do. */
export function refuseForAgents(env: Environment, what: string): void {
  if (!isAgentOfRun(env)) return;
  throw new VolleyError(
    'SUBTASK_REFUSED',
    `An agent of a run cannot ${what}. It works on its own subtask and ends it with volley tasks complete or volley tasks block.`,
  );
}

function answered<T extends object>(answer: RunAnswer): { data: T; text: string } {
  if (answer.ok) return { data: answer.data as T, text: answer.text };
  throw new VolleyError(answer.code as ErrorCode, answer.message, { ...answer.details });
}

function unanswered({ feature, seq }: AgentRequest, cause?: unknown): VolleyError {
  const message = `The attempt at ${feature} ${seq} rejects this request: it has ended, or this is not its agent.`;
  return new VolleyError('SUBTASK_REFUSED', message, { feature, seq }, { cause });
}
