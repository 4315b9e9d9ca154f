import { MAX_AMOUNT } from '../core/demand.ts';
import type { Failure, FailureReason } from '../core/failure.ts';
import type { LimitHit } from '../core/quota.ts';

/** A global symbol: a tool package may bring its own copy of Volley. */
const BRAND = Symbol.for('volley.tool-failure');
const OUTAGES: Readonly<Record<Outage, true>> = { network: true, auth: true, billing: true, service: true };
const MAX_SCOPE = 200;

/**
 * An error with which a tool or a runner says why it failed and whether a retry makes sense.
 *
 * ```ts
 * throw new ToolFailure('The key was refused', { retryable: false });
 * ```
 */
export class ToolFailure extends Error {
  readonly reason: FailureReason;
  readonly retryable: boolean;
  /** How much memory the next attempt should get, in megabytes. It is retried only if that fits. */
  readonly memoryMb?: number;
  /**
   * Whether the attempt was lost with its worker.
   *
   * @internal
   */
  readonly isLost: boolean;
  /** Set by {@link RateLimitedError}. */
  readonly limit?: LimitReport;
  /** Set by {@link OutageError}. */
  readonly outage?: OutageReport;

  constructor(
    message: string,
    options: {
      reason?: FailureReason;
      retryable?: boolean;
      memoryMb?: number;
      cause?: unknown;
      isLost?: boolean;
      limit?: LimitReport;
      outage?: OutageReport;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    Object.defineProperty(this, BRAND, { value: true });
    this.name = 'ToolFailure';
    this.reason = options.reason ?? 'error';
    this.retryable = options.retryable ?? true;
    if (options.memoryMb !== undefined) this.memoryMb = options.memoryMb;
    this.isLost = options.isLost ?? false;
    if (options.limit !== undefined) this.limit = options.limit;
    if (options.outage !== undefined) this.outage = options.outage;
  }
}

/** What a service said when it refused an attempt because of a rate limit or a quota. */
export interface LimitReport {
  /** How long to wait, in milliseconds. It goes before `resetAt`. Without either, the wait grows with each refusal. */
  readonly retryAfterMs?: number;
  /** When the limit resets, in milliseconds since 1970. */
  readonly resetAt?: number;
  /** What is limited, such as `agent:codex` or `host:api.example.com`. By default the quota of the tool. */
  readonly scope?: string;
}

/**
 * Throw this when a rate limit or a quota refused an attempt. It does not use up an attempt: everything with the same
 * quota waits until the reset, and the execution goes back into the queue.
 *
 * ```ts
 * throw new RateLimitedError('The API answered 429', { retryAfterMs: 30_000 });
 * ```
 */
export class RateLimitedError extends ToolFailure {
  declare readonly limit: LimitReport;

  constructor(message: string, options: LimitReport & { cause?: unknown } = {}) {
    const { retryAfterMs, resetAt, scope, cause } = options;
    super(message, {
      limit: {
        ...(retryAfterMs !== undefined && { retryAfterMs }),
        ...(resetAt !== undefined && { resetAt }),
        ...(scope !== undefined && { scope }),
      },
      cause,
    });
    this.name = 'RateLimitedError';
  }
}

/** Outside reasons for which every call fails alike: no connection, a refused key, an unpaid account, a service that is down. */
export type Outage = 'network' | 'auth' | 'billing' | 'service';

/** Why the outside world fails an attempt, and probably the others too. */
export interface OutageReport {
  readonly kind: Outage;
  /** What is out of reach, such as `agent:codex` or `host:api.example.com`. By default the quota of the tool. */
  readonly scope?: string;
}

/**
 * Throw this when an attempt failed for a reason outside of it that other calls share. The attempt fails like any other,
 * but a batch whose calls all fail for the same reason stops early, and what has not run stays open.
 *
 * ```ts
 * throw new OutageError('The API refused the key', { kind: 'auth' });
 * ```
 */
export class OutageError extends ToolFailure {
  declare readonly outage: OutageReport;

  constructor(message: string, options: OutageReport & { retryable?: boolean; cause?: unknown }) {
    const { kind, scope, retryable, cause } = options;
    super(message, {
      outage: { kind, ...(scope !== undefined && { scope }) },
      // A wrong key or an unpaid bill does not mend itself.
      retryable: retryable ?? (kind === 'network' || kind === 'service'),
      cause,
    });
    this.name = 'OutageError';
  }
}

/** What an error says of a limit, as far as it can be used; undefined if it says nothing. */
export function checkedLimit(limit: unknown): LimitReport | undefined {
  if (typeof limit !== 'object' || limit === null) return undefined;
  const { retryAfterMs, resetAt, scope } = limit as Record<string, unknown>;
  return {
    ...(isTime(retryAfterMs) && { retryAfterMs }),
    ...(isTime(resetAt) && { resetAt }),
    ...(isScope(scope) && { scope }),
  };
}

export function checkedOutage(outage: unknown): OutageReport | undefined {
  if (typeof outage !== 'object' || outage === null) return undefined;
  const { kind, scope } = outage as Record<string, unknown>;
  if (typeof kind !== 'string' || !Object.hasOwn(OUTAGES, kind)) return undefined;
  return { kind: kind as Outage, ...(isScope(scope) && { scope }) };
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}

function isScope(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= MAX_SCOPE;
}

/** Whether it is a ToolFailure, from this copy of Volley or another. */
export function isToolFailure(thrown: unknown): thrown is ToolFailure {
  try {
    return typeof thrown === 'object' && thrown !== null && BRAND in thrown;
  } catch {
    // A revoked proxy.
    return false;
  }
}

/** The failure of an attempt that threw an error. `wallMs` is the time of day, for limits that name the time of a reset. */
export function toFailure(error: unknown, wallMs = Date.now()): Failure {
  try {
    if (isToolFailure(error)) {
      const { reason, retryable, memoryMb, isLost } = error;
      const isAmount = typeof memoryMb === 'number' && memoryMb > 0 && memoryMb <= MAX_AMOUNT;
      const isPermanent = !retryable;
      const limit = limitHit(checkedLimit(error.limit), wallMs);
      const more = { ...(isAmount && { memoryMb }), ...(isLost && { isLost }), ...(limit && { limit }) };
      return { reason, isPermanent, ...more, error };
    }
    const isPermanent = (error as { retryable?: unknown } | null)?.retryable === false;
    return { reason: 'error', isPermanent, error };
  } catch {
    // A getter that throws, a revoked proxy.
    return { reason: 'error', isPermanent: false, error };
  }
}

/** The limit with a span in place of the time of day, which no other machine may compare with its own. */
export function limitHit(limit: LimitReport | undefined, wallMs: number): LimitHit | undefined {
  if (limit === undefined) return undefined;
  const { resetAt, scope } = limit;
  const retryAfterMs =
    limit.retryAfterMs ?? (resetAt === undefined ? undefined : Math.max(0, resetAt - wallMs));
  return { ...(retryAfterMs !== undefined && { retryAfterMs }), ...(scope !== undefined && { scope }) };
}
