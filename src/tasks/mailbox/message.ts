import { createHmac, timingSafeEqual } from 'node:crypto';
import { VolleyError } from '../../core/errors.ts';

/** Where an agent of a run leaves what it asks of that run, and what shows that it is that agent. */
export const MAILBOX_VARIABLE = 'VOLLEY_RUN_MAILBOX';
export const TOKEN_VARIABLE = 'VOLLEY_RUN_TOKEN';

/** What an agent may ask of its run. */
export type AgentRequest = { readonly feature: string; readonly seq: string } & (
  | { readonly action: 'complete'; readonly summary: string }
  | { readonly action: 'block'; readonly reason: string }
);

export type RunAnswer =
  | { readonly ok: true; readonly data: Readonly<Record<string, unknown>>; readonly text: string }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly details: object };

/** A request as it stands in a file. The token itself is in no file. */
interface SignedRequest {
  readonly body: string;
  readonly signature: string;
}

export function sign(token: string, id: string, request: AgentRequest): SignedRequest {
  const body = JSON.stringify(request);
  return { body, signature: signatureOf(token, id, body) };
}

/** The request, if it is signed with the token. */
export function verified(token: string, id: string, text: string): AgentRequest | undefined {
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
    'The request is malformed: an agent can complete its subtask with a summary, or block it with a reason.';
  return new VolleyError('SUBTASK_REFUSED', message, {}, { cause });
}

function signatureOf(token: string, id: string, body: string): string {
  return createHmac('sha256', token).update(`${id}\n${body}`).digest('hex');
}
