import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BatchExecutor } from '../../batch/executor/batch-executor.ts';
import type { Store } from '../../store/store.ts';
import { batchBody } from '../wire/batch.ts';
import type { RequestContext } from './request-log.ts';
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

/** What another process changes is seen after so long at the latest. */
const FRESH_MS = 50;
const MAX_KEPT = 1000;

interface BatchText {
  readonly text: string;
  /** Its length, as a header says it. */
  readonly bytes: string;
  readonly until: number;
}

/**
 * How batches stand, as JSON text. Many clients ask for the same batch again and again: it is read from the store once
 * until something is written or a moment has passed.
 */
export class BatchTexts {
  private readonly kept = new Map<string, BatchText>();
  /** Rises with every change: what was read before one is not kept. */
  private changes = 0;
  private readonly unlisten: () => void;

  constructor(
    private readonly executor: BatchExecutor,
    store: Pick<Store, 'onCommit'>,
  ) {
    this.unlisten = store.onCommit(() => this.clear());
  }

  /** What is known without reading; `now` is by the steady clock. */
  known(batch: string, now: number): BatchText | undefined {
    const known = this.kept.get(batch);
    return known !== undefined && known.until > now ? known : undefined;
  }

  /** Undefined if there is no such batch. */
  async read(batch: string, now: number): Promise<BatchText | undefined> {
    const { changes } = this;
    const view = await this.executor.view(batch);
    if (view === undefined) return undefined;
    const text = JSON.stringify(batchBody(view));
    const found = { text, bytes: String(Buffer.byteLength(text)), until: now + FRESH_MS };
    if (changes !== this.changes) return found;
    if (this.kept.size >= MAX_KEPT) this.kept.clear();
    this.kept.set(batch, found);
    return found;
  }

  /** Something has changed, or may have. */
  clear(): void {
    this.changes++;
    this.kept.clear();
  }

  close(): void {
    this.unlisten();
  }
}
