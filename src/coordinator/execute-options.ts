import { checkKnown } from '../core/check-known.ts';
import { VolleyError } from '../core/errors.ts';
import { checkNumber, checkSpanMs, show } from '../core/numbers.ts';

/** How one list of calls is run. */
export interface ExecuteOptions {
  /** Cancels what has not settled when it is aborted. */
  readonly signal?: AbortSignal;
  /** Whether the first failure cancels the rest. Default false. */
  readonly failFast?: boolean;
  /** How many calls of the list may run at once. Default: as many as the limits allow. */
  readonly maxConcurrency?: number;
  /** How long the whole list may take. */
  readonly timeoutMs?: number;
  /** Hears the name of the engine's group that the calls belong to, right before they are submitted. */
  readonly onGroup?: (group: string) => void;
}

const OPTIONS: ReadonlySet<string> = new Set<keyof ExecuteOptions>([
  'signal',
  'failFast',
  'maxConcurrency',
  'timeoutMs',
  'onGroup',
]);

/** Throws what is wrong with the options, before anything has begun that would have to be undone. */
export function checkOptions(options: ExecuteOptions): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw invalid(
      `The options must be an object such as { timeoutMs: 60000 }, but they are ${show(options)}`,
    );
  checkKnown('option of a list of calls', options, OPTIONS);
  const { signal, failFast, maxConcurrency, timeoutMs } = options;
  if (signal !== undefined && !isSignal(signal))
    throw invalid(`signal must be an AbortSignal, but it is ${show(signal)}`);
  if (failFast !== undefined && typeof failFast !== 'boolean')
    throw invalid(`failFast must be true or false, but it is ${show(failFast)}`);
  if (maxConcurrency !== undefined)
    checkNumber('maxConcurrency', maxConcurrency, { min: 1, integer: true, allowInfinity: true });
  checkSpanMs('timeoutMs', timeoutMs);
}

function isSignal(value: unknown): boolean {
  const { aborted, addEventListener } = Object(value) as Partial<AbortSignal>;
  return typeof aborted === 'boolean' && typeof addEventListener === 'function';
}

function invalid(message: string): VolleyError {
  return new VolleyError('INVALID_VALUE', `${message}.`);
}
