import { createHash } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import { VolleyError } from '../../core/errors.ts';
import { type ApiEnv, requestOf } from './api.ts';
import type { ServerParts } from './parts.ts';

/** A response that can be repeated. */
interface KeptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whether the request succeeded. Others may be retried. */
  readonly isDone: boolean;
}

interface Entry {
  readonly fingerprint: string;
  readonly expiresAt: number;
  /** Undefined if there is nothing to repeat. */
  readonly answer: Promise<KeptAnswer | undefined>;
  bytes: number;
}

const LIFETIME_MS = 24 * 3_600_000;
const MAX_KEYS = 10_000;
const MAX_BYTES = 32 * 2 ** 20;
const KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * Remembers the responses to requests that create something, by the client's idempotency key. A repeated request gets the
 * same response and creates nothing. A request that arrives while the first is running waits for it.
 */
export class IdempotencyTable {
  /** Oldest first. */
  private readonly entries = new Map<string, Entry>();
  private bytes = 0;

  /** Does the work, or returns the previous response. */
  async once(
    scope: string,
    key: string,
    body: Buffer,
    now: number,
    work: () => Promise<KeptAnswer>,
  ): Promise<KeptAnswer & { readonly isRepeated: boolean }> {
    if (!KEY.test(key)) {
      throw new VolleyError(
        'INVALID_REQUEST',
        'The Idempotency-Key must have 1 to 255 visible ASCII characters, such as a UUID.',
      );
    }
    const name = `${scope}\n${key}`;
    const fingerprint = createHash('sha256').update(body).digest('base64');
    for (;;) {
      const known = this.known(name, now);
      if (known === undefined) break;
      if (known.fingerprint !== fingerprint) {
        throw new VolleyError(
          'IDEMPOTENCY_CONFLICT',
          'This Idempotency-Key was used for a request with another body: use a new key for a new request.',
        );
      }
      const answer = await known.answer;
      if (answer !== undefined) return { ...answer, isRepeated: true };
      // The first request failed, so this one may try, unless another waiting one was faster.
      if (this.entries.get(name) === known) this.forget(name, known);
    }
    return { ...(await this.begin(name, fingerprint, now, work)), isRepeated: false };
  }

  private async begin(
    name: string,
    fingerprint: string,
    now: number,
    work: () => Promise<KeptAnswer>,
  ): Promise<KeptAnswer> {
    const working = work();
    const entry: Entry = {
      fingerprint,
      expiresAt: now + LIFETIME_MS,
      // A failed request changed nothing and can be retried with the same key.
      answer: working.then(
        (answer) => (answer.isDone ? answer : undefined),
        () => undefined,
      ),
      bytes: name.length,
    };
    this.entries.set(name, entry);
    this.bytes += entry.bytes;
    const answer = await entry.answer;
    if (this.entries.get(name) === entry) {
      if (answer === undefined) this.forget(name, entry);
      else {
        entry.bytes += answer.body.length;
        this.bytes += answer.body.length;
        this.shrink();
      }
    }
    return working;
  }

  private known(name: string, now: number): Entry | undefined {
    const entry = this.entries.get(name);
    if (entry === undefined || entry.expiresAt > now) return entry;
    this.forget(name, entry);
    return undefined;
  }

  private forget(name: string, entry: Entry): void {
    this.entries.delete(name);
    this.bytes -= entry.bytes;
  }

  private shrink(): void {
    for (const [name, entry] of this.entries) {
      if (this.entries.size <= MAX_KEYS && this.bytes <= MAX_BYTES) return;
      this.forget(name, entry);
    }
  }
}

/** Header of requests that create something; see {@link IdempotencyTable}. */
export const IDEMPOTENCY_HEADER = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A request with the same key is executed once, however often it is sent. Keys are kept for a day.',
  schema: { type: 'string', maxLength: 255 },
} as const;

/** Executes a request once per idempotency key. */
export function idempotent({ idempotency }: ServerParts): MiddlewareHandler<ApiEnv> {
  return async (context, next) => {
    const { incoming } = context.env;
    const key = incoming.headers['idempotency-key'];
    if (key === undefined) return next();
    const request = requestOf(context);
    const { principal } = request;
    const { rawBody = Buffer.alloc(0) } = incoming as { rawBody?: Buffer };
    const scope = `${principal?.kind} ${principal?.name} ${incoming.method} ${context.req.path}`;
    const { status, headers, body, isRepeated } = await idempotency.once(
      scope,
      String(key),
      rawBody,
      Date.now(),
      async () => {
        await next();
        const { res } = context;
        return {
          status: res.status,
          headers: kept(res.headers),
          body: await res.clone().text(),
          isDone: res.ok && !request.isRefused,
        };
      },
    );
    if (!isRepeated) return;
    context.res = new Response(body, { status, headers: { ...headers, 'Idempotency-Replayed': 'true' } });
  };
}

function kept(headers: Headers): Record<string, string> {
  return Object.fromEntries(
    ['content-type', 'location'].flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
}
