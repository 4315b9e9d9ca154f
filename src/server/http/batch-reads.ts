import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BatchTexts } from '../views/batch-texts.ts';
import type { RequestContext } from './request-context.ts';
import { API_HEADERS } from './security-headers.ts';

const START = '/v1/batches/';
/** A name that is written as it is: others take the usual way. */
const PLAIN_NAME = /^[\w.-]{1,100}$/;

/**
 * Answers `GET /v1/batches/{batch}` without routing: whoever follows a batch without a stream asks nothing else, over
 * and over. The route itself stays, for everything that is not plain.
 */
export class BatchReads {
  /** What was asked for right before: clients repeat themselves. */
  private last: { readonly url: string; readonly name: string | undefined } = { url: '', name: undefined };

  constructor(private readonly texts: BatchTexts) {}

  /** Whether it has answered; at once where nothing has to be read. */
  answer(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    context: RequestContext,
  ): boolean | Promise<boolean> {
    const { method, url = '' } = incoming;
    if (context.principal === undefined || method !== 'GET') return false;
    if (url !== this.last.url) this.last = { url, name: nameIn(url) };
    const { name } = this.last;
    if (name === undefined) return false;
    const known = this.texts.known(name, context.startedAt);
    if (known !== undefined) return send(outgoing, context, known);
    return this.texts
      .read(name, context.startedAt)
      .then((found) => found !== undefined && send(outgoing, context, found));
  }
}

function send(
  outgoing: ServerResponse,
  context: RequestContext,
  found: { readonly text: string; readonly bytes: string },
): true {
  context.route = '/v1/batches/:batch';
  // All headers at once: setting one after another takes three times as long.
  outgoing.writeHead(200, [
    ...API_HEADERS,
    'Content-Type',
    'application/json',
    'Content-Length',
    found.bytes,
  ]);
  outgoing.end(found.text);
  return true;
}

function nameIn(url: string): string | undefined {
  if (!url.startsWith(START)) return undefined;
  const name = url.slice(START.length);
  return PLAIN_NAME.test(name) ? name : undefined;
}
