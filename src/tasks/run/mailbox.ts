import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EnvironmentVariables } from '../../config/environment.ts';
import { readRegularFile } from '../../config/regular-file.ts';
import { type ErrorCode, VolleyError } from '../../core/errors.ts';
import { reasonText } from '../../core/words.ts';
import { AGENT_VARIABLE } from '../files/task-folder.ts';

/** The agent's mailbox folder, and the token that authenticates it. */
const MAILBOX_VARIABLE = 'VOLLEY_RUN_MAILBOX';
const TOKEN_VARIABLE = 'VOLLEY_RUN_TOKEN';

/** A request of an agent to its run. */
export type AgentRequest = { readonly feature: string; readonly seq: string } & (
  | { readonly action: 'complete'; readonly summary: string }
  | { readonly action: 'block'; readonly reason: string }
);

type RunAnswer =
  | { readonly ok: true; readonly data: Readonly<Record<string, unknown>>; readonly text: string }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly details: object };

/** A request as written to a file. The token itself is never written. */
interface SignedRequest {
  readonly body: string;
  readonly signature: string;
}

function signRequest(token: string, id: string, request: AgentRequest): SignedRequest {
  const body = JSON.stringify(request);
  return { body, signature: signatureOf(token, id, body) };
}

/** Returns the request if it is signed with the token. */
function verifyRequest(token: string, id: string, text: string): AgentRequest | undefined {
  const { body, signature } = objectIn(text);
  if (typeof body !== 'string' || typeof signature !== 'string') return undefined;
  const [given, expected] = [signature, signatureOf(token, id, body)].map((one) => Buffer.from(one));
  const isRight = given!.length === expected!.length && timingSafeEqual(given!, expected!);
  return isRight ? requestOf(objectIn(body)) : undefined;
}

function requestOf({ action, feature, seq, summary, reason }: Record<string, unknown>): AgentRequest {
  if (typeof feature === 'string' && typeof seq === 'string') {
    if (action === 'complete' && typeof summary === 'string') return { action, feature, seq, summary };
    if (action === 'block' && typeof reason === 'string') return { action, feature, seq, reason };
  }
  throw malformed();
}

function objectIn(text: string): Record<string, unknown> {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    throw malformed(error);
  }
  if (typeof data !== 'object' || data === null) throw malformed();
  return data as Record<string, unknown>;
}

function malformed(cause?: unknown): VolleyError {
  const message =
    'Malformed request. An agent can complete its subtask with a summary, or block it with a reason.';
  return new VolleyError('SUBTASK_REFUSED', message, {}, { cause });
}

function signatureOf(token: string, id: string, body: string): string {
  return createHmac('sha256', token).update(`${id}\n${body}`).digest('hex');
}

/** Handles a request; throws to refuse it. */
type Handler = (request: AgentRequest) => Promise<{ data: Readonly<Record<string, unknown>>; text: string }>;

const PAUSE_MS = 50;
const LIMITS = { maxBytes: 256 * 1024, followLinks: false };
const MAX_REQUESTS = 1000;
const REQUEST = /^([0-9a-f]{16})\.request$/;

/**
 * A folder in which the agent of one attempt leaves requests and finds answers. Files work in every agent's sandbox;
 * sockets do not. The agent controls the folder, so requests must be signed with the attempt's token.
 */
export class Mailbox {
  private readonly token = randomBytes(32).toString('hex');
  private readonly seen = new Set<string>();
  private work: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  private constructor(
    private readonly scratch: string,
    readonly folder: string,
    private readonly handle: Handler,
  ) {}

  static async open(scratch: string, handle: Handler): Promise<Mailbox> {
    const mailbox = new Mailbox(scratch, await mkdtemp(join(scratch, 'mailbox-')), handle);
    mailbox.next();
    return mailbox;
  }

  /** The environment variables for the agent. */
  get env(): Record<string, string> {
    return { [MAILBOX_VARIABLE]: this.folder, [TOKEN_VARIABLE]: this.token };
  }

  /** Accepts no more requests, and waits for the current one. */
  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.timer);
    await this.work;
    await rm(this.folder, { recursive: true, force: true }).catch(() => undefined);
  }

  private next(): void {
    this.timer = setTimeout(() => {
      this.work = this.poll()
        // The agent may have removed the folder.
        .catch(() => undefined)
        .then(() => {
          if (!this.isClosed) this.next();
        });
    }, PAUSE_MS);
    this.timer.unref();
  }

  private async poll(): Promise<void> {
    const names = await readdir(this.folder).catch(() => []);
    for (const name of names) {
      const [, id] = REQUEST.exec(name) ?? [];
      if (id === undefined || this.seen.has(id) || this.seen.size >= MAX_REQUESTS || this.isClosed) continue;
      this.seen.add(id);
      const answer = await this.answer(id, join(this.folder, name));
      const draft = join(this.scratch, `${id}.draft`);
      await writeFile(draft, JSON.stringify(answer));
      // Renaming replaces a link that the agent may have put there, and does not follow it.
      await rename(draft, join(this.folder, `${id}.answer`)).catch(() => rm(draft, { force: true }));
    }
  }

  private async answer(id: string, path: string): Promise<RunAnswer> {
    try {
      const request = verifyRequest(this.token, id, await readRegularFile(path, LIMITS));
      if (request === undefined)
        throw new VolleyError('SUBTASK_REFUSED', 'The request is not signed with the token of this attempt.');
      return { ok: true, ...(await this.handle(request)) };
    } catch (error) {
      const { code, details } =
        error instanceof VolleyError ? error : { code: 'SUBTASK_REFUSED', details: {} };
      return { ok: false, code, message: reasonText(error), details };
    }
  }
}

/** Whether this process belongs to an agent of a run, which must not change task files itself. */
export function isAgentOfRun(env: EnvironmentVariables): boolean {
  return Boolean(env[AGENT_VARIABLE] || env[MAILBOX_VARIABLE] || env[TOKEN_VARIABLE]) || isBelowAgent();
}

const MAX_ANCESTORS = 64;

/**
 * Whether a process above this one was started as an agent. An agent that clears its environment for `volley` cannot
 * clear that of its own process. Where the system does not show it, only the environment counts.
 */
function isBelowAgent(): boolean {
  if (process.platform !== 'linux') return false;
  try {
    for (let pid = process.ppid, count = 0; pid > 1 && count < MAX_ANCESTORS; count++) {
      if (`\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`.includes(`\0${TOKEN_VARIABLE}=`)) return true;
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      // The name of the program may contain spaces and parentheses.
      pid = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    }
  } catch {
    // Of another user, or gone.
  }
  return false;
}

/**
 * Sends a request to the run that this process works for, and waits for the answer, which may take as long as its
 * verification commands. Throws if the run refuses.
 */
export async function askRun<T extends object = Readonly<Record<string, unknown>>>(
  env: EnvironmentVariables,
  request: AgentRequest,
  signal?: AbortSignal,
): Promise<{ readonly data: T; readonly text: string }> {
  const { [MAILBOX_VARIABLE]: folder, [TOKEN_VARIABLE]: token } = env;
  // Also an agent that cleared its environment.
  if (!folder || !token) throw unanswered(request);
  const id = randomBytes(8).toString('hex');
  const place = join(folder, id);
  try {
    await writeFile(`${place}.draft`, JSON.stringify(signRequest(token, id, request)));
    await rename(`${place}.draft`, `${place}.request`);
  } catch (error) {
    throw unanswered(request, error);
  }
  for (;;) {
    const text = await readFile(`${place}.answer`, 'utf8').catch(() => undefined);
    if (text !== undefined) return answered<T>(JSON.parse(text) as RunAnswer);
    if (!existsSync(folder)) throw unanswered(request);
    await sleep(PAUSE_MS, undefined, { signal });
  }
}

/** Throws if this process belongs to an agent of a run. */
export function refuseForAgents(env: EnvironmentVariables, what: string): void {
  if (!isAgentOfRun(env)) return;
  throw new VolleyError(
    'SUBTASK_REFUSED',
    `An agent of a run cannot ${what}. It can only end its own subtask, with volley tasks complete or volley tasks block.`,
  );
}

function answered<T extends object>(answer: RunAnswer): { data: T; text: string } {
  if (answer.ok) return { data: answer.data as T, text: answer.text };
  throw new VolleyError(answer.code as ErrorCode, answer.message, { ...answer.details });
}

function unanswered({ feature, seq }: AgentRequest, cause?: unknown): VolleyError {
  const message = `The attempt at ${feature} ${seq} rejects this request because it has ended, or this is not its agent.`;
  return new VolleyError('SUBTASK_REFUSED', message, { feature, seq }, { cause });
}
