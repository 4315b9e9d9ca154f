import { ERROR_CODES, type ErrorCode, VolleyError } from '../core/errors.ts';
import type { FailureReason } from '../core/failure.ts';
import {
  checkedLimit,
  checkedOutage,
  isToolFailure,
  type LimitReport,
  OutageError,
  type OutageReport,
  RateLimitedError,
  ToolFailure,
} from '../engine/tool-failure.ts';

/**
 * An error in transit between threads or processes: plain data, limited in size, the same after structured cloning and
 * after JSON. Its sender is untrusted, so the reader validates every field.
 */
export interface WireError {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  /** The code of a VolleyError, or of a Node error such as `ENOENT`. */
  readonly code?: string;
  /** The details of a VolleyError. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** The reason of a ToolFailure. */
  readonly reason?: string;
  /** Any error may declare a retry pointless. */
  readonly retryable?: boolean;
  /** What a RateLimitedError says. */
  readonly limit?: LimitReport;
  /** What an OutageError says. */
  readonly outage?: OutageReport;
  readonly cause?: WireError;
  /** The thrown value if it was not an error but a string, a number or the like. */
  readonly value?: string | number | boolean | null;
}

const MAX_TEXT = 16_384;
const MAX_STACK = 16_384;
const MAX_DETAILS = 16_384;
const MAX_CAUSES = 5;

const REASONS: Readonly<Record<FailureReason, true>> = {
  error: true,
  timeout: true,
  stalled: true,
  memory: true,
  cpu: true,
  crashed: true,
  deadline: true,
  budget: true,
};

const BUILT_IN = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError } as const;

/** Describes anything that was thrown. Never throws itself. */
export function toWireError(thrown: unknown): WireError {
  try {
    return describe(thrown, MAX_CAUSES);
  } catch {
    return { name: 'Error', message: 'The tool threw something that cannot be described.' };
  }
}

/** Recreates the error on this side. */
export function fromWireError(wire: WireError): unknown {
  return rebuild(wire, MAX_CAUSES);
}

function describe(thrown: unknown, causes: number): WireError {
  if (thrown === null || typeof thrown === 'boolean' || typeof thrown === 'number')
    return { name: 'Error', message: String(thrown), value: thrown };
  if (typeof thrown === 'string') return { name: 'Error', message: '', value: cut(thrown, MAX_TEXT) };
  if (typeof thrown !== 'object') return { name: 'Error', message: `The tool threw ${String(thrown)}` };

  const { name, message, stack, code, details, reason, retryable, limit, outage, cause } = thrown as Record<
    string,
    unknown
  >;
  if (typeof message !== 'string') {
    return { name: 'Error', message: `The tool threw an object that is not an error: ${asJson(thrown)}` };
  }
  const plainDetails = plain(details);
  const isOurs = isToolFailure(thrown);
  const plainLimit = isOurs ? checkedLimit(limit) : undefined;
  const plainOutage = isOurs ? checkedOutage(outage) : undefined;
  return {
    name: typeof name === 'string' ? cut(name, 200) : 'Error',
    message: cut(message, MAX_TEXT),
    ...(typeof stack === 'string' && { stack: cut(stack, MAX_STACK) }),
    ...(typeof code === 'string' && { code: cut(code, 200) }),
    ...(plainDetails !== undefined && { details: plainDetails }),
    ...(typeof reason === 'string' && { reason: cut(reason, 200) }),
    ...(typeof retryable === 'boolean' && { retryable }),
    ...(plainLimit !== undefined && { limit: plainLimit }),
    ...(plainOutage !== undefined && { outage: plainOutage }),
    ...(cause !== undefined && causes > 0 && { cause: describe(cause, causes - 1) }),
  };
}

function rebuild(wire: unknown, causes: number): unknown {
  if (typeof wire !== 'object' || wire === null) return new Error(`The tool failed: ${String(wire)}`);
  const { value, stack, ...rest } = wire as Partial<Record<keyof WireError, unknown>>;
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value === 'string') return cut(value, MAX_TEXT + 1);
  const cause = rest.cause !== undefined && causes > 0 ? rebuild(rest.cause, causes - 1) : undefined;
  const name = typeof rest.name === 'string' ? rest.name : 'Error';
  const message = typeof rest.message === 'string' ? cut(rest.message, MAX_TEXT) : '';
  const code = typeof rest.code === 'string' ? rest.code : undefined;
  const error = create(name, message, code, rest, cause === undefined ? undefined : { cause });
  // A non-enumerable name or stack, as in any error, so that it is not printed twice.
  if (error.name !== name) hide(error, 'name', name);
  if (typeof stack === 'string') hide(error, 'stack', cut(stack, MAX_STACK));
  return error;
}

function create(
  name: string,
  message: string,
  code: string | undefined,
  { details, reason, retryable, limit, outage }: Partial<Record<keyof WireError, unknown>>,
  options: { cause: unknown } | undefined,
): Error {
  if (name === 'VolleyError' && code !== undefined && Object.hasOwn(ERROR_CODES, code))
    return new VolleyError(code as ErrorCode, message, plain(details) ?? {}, options);
  const limited = checkedLimit(limit);
  if (limited !== undefined) return new RateLimitedError(message, { ...limited, ...options });
  const out = checkedOutage(outage);
  if (out !== undefined)
    return new OutageError(message, { ...out, retryable: retryable !== false, ...options });
  if (name === 'ToolFailure' && typeof reason === 'string' && Object.hasOwn(REASONS, reason))
    return new ToolFailure(message, {
      reason: reason as FailureReason,
      retryable: retryable !== false,
      cause: options?.cause,
    });
  const type = Object.hasOwn(BUILT_IN, name) ? BUILT_IN[name as keyof typeof BUILT_IN] : Error;
  return Object.assign(new type(message, options), {
    ...(code !== undefined && { code }),
    ...(retryable === false && { retryable }),
  });
}

function hide(error: Error, key: 'name' | 'stack', value: string): void {
  Object.defineProperty(error, key, { value, configurable: true, writable: true, enumerable: false });
}

/** A JSON-safe copy, or undefined if it would be too large. */
function plain(details: unknown): Record<string, unknown> | undefined {
  if (typeof details !== 'object' || details === null || Array.isArray(details)) return undefined;
  try {
    const text = JSON.stringify(details);
    return text.length > MAX_DETAILS ? undefined : (JSON.parse(text) as Record<string, unknown>);
  } catch {
    return undefined;
  }
}

function asJson(value: object): string {
  try {
    return cut(JSON.stringify(value) ?? String(value), 1000);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}
