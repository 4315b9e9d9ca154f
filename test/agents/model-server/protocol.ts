import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Conversation, Reply } from './script.ts';

/** JSON that a program of somebody else's sent. */
export type Json = Readonly<Record<string, unknown>>;

/** How agents of one vendor talk to their models. */
export interface Protocol {
  /** Whether a request to this path is for it. */
  handles(path: string): boolean;
  conversation(body: Json): Conversation;
  /** Writes the whole answer. */
  answer(
    reply: Reply,
    request: { readonly path: string; readonly body: Json },
    response: ServerResponse,
  ): void;
  /** What the vendor answers, with status 429, when the account is used up. */
  exhausted(resetsInMs: number): { readonly body: Json; readonly headers?: Readonly<Record<string, string>> };
}

export function jsonList(value: unknown): readonly Json[] {
  return Array.isArray(value) ? (value as Json[]) : [];
}

export function sendJson(
  response: ServerResponse,
  value: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
}

/** Server-sent events: each with its name where it has one. */
export function sendEvents(
  response: ServerResponse,
  events: readonly { event?: string; data: unknown }[],
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  for (const { event, data } of events) {
    const text = typeof data === 'string' ? data : JSON.stringify(data);
    response.write(`${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`);
  }
  response.end();
}

export async function bodyOf(request: IncomingMessage): Promise<Json> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? {} : (JSON.parse(text) as Json);
}
