import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BatchTexts } from '../views/batch-texts.ts';
import type { RequestContext } from './request-context.ts';

const START = '/v1/batches/';
/** A name that is written as it is: others take the usual way. */
const PLAIN_NAME = /^[\w.-]{1,100}$/;

/**
 * Answers `GET /v1/batches/{batch}` without routing: whoever follows a batch without a stream asks nothing else, over
 * and over. The route itself stays, for everything that is not plain.
 */
export class BatchReads {
  constructor(private readonly texts: BatchTexts) {}

  /** Whether it has answered. */
  answer(incoming: IncomingMessage, outgoing: ServerResponse, context: RequestContext): boolean {
    const { method, url = '' } = incoming;
    if (context.principal === undefined || method !== 'GET' || !url.startsWith(START)) return false;
    const name = url.slice(START.length);
    const text = PLAIN_NAME.test(name) ? this.texts.get(name) : undefined;
    if (text === undefined) return false;
    context.route = '/v1/batches/:batch';
    outgoing.writeHead(200, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(text),
    });
    outgoing.end(text);
    return true;
  }
}
