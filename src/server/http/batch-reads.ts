import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BatchExecutor } from '../../batch/executor/batch-executor.ts';
import type { Store } from '../../store/store.ts';
import type { RemoteSpeeds } from '../events/remote-speeds.ts';
import { batchBody } from '../wire/batch.ts';
import type { RequestContext } from './request-log.ts';
import { API_HEADERS } from './security-headers.ts';

const START = '/v1/batches/';
/** A name without escapes. Others are routed normally. */
const PLAIN_NAME = /^[\w.-]{1,100}$/;

/**
 * Answers `GET /v1/batches/{batch}` without routing, because clients without a stream poll it. The regular route handles
 * everything that is not plain.
 */
export class BatchReads {
  /** The last request: clients repeat themselves. */
  private last: { readonly url: string; readonly name: string | undefined } = { url: '', name: undefined };

  constructor(private readonly texts: BatchTexts) {}

  /** Returns whether it has answered, synchronously if nothing has to be read. */
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
  // Setting headers one by one takes three times as long.
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

/** Changes by other processes are seen after this time at the latest. */
const FRESH_MS = 50;
const MAX_KEPT = 1000;

interface BatchText {
  readonly text: string;
  /** The value of the Content-Length header. */
  readonly bytes: string;
  readonly until: number;
}

/**
 * Caches the state of batches as JSON for clients that poll. It is read from the store again after a write or a short
 * time.
 */
export class BatchTexts {
  private readonly kept = new Map<string, BatchText>();
  /** Incremented with every change. Older reads are discarded. */
  private changes = 0;
  private readonly unlisten: () => void;

  constructor(
    private readonly executor: BatchExecutor,
    store: Pick<Store, 'onCommit'>,
    private readonly speeds: RemoteSpeeds,
  ) {
    this.unlisten = store.onCommit(() => this.clear());
  }

  /** Returns the cached state; `now` is monotonic. */
  known(batch: string, now: number): BatchText | undefined {
    const known = this.kept.get(batch);
    return known !== undefined && known.until > now ? known : undefined;
  }

  /** Undefined if there is no such batch. */
  async read(batch: string, now: number): Promise<BatchText | undefined> {
    const { changes } = this;
    const view = await this.executor.view(batch);
    if (view === undefined) return undefined;
    const text = JSON.stringify(batchBody(await this.speeds.addNow(view)));
    const found = { text, bytes: String(Buffer.byteLength(text)), until: now + FRESH_MS };
    if (changes !== this.changes) return found;
    if (this.kept.size >= MAX_KEPT) this.kept.clear();
    this.kept.set(batch, found);
    return found;
  }

  /** Invalidates the cache. */
  clear(): void {
    this.changes++;
    this.kept.clear();
  }

  close(): void {
    this.unlisten();
  }
}
