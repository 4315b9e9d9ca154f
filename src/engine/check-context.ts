import { VolleyError } from '../core/errors.ts';
import { show } from '../core/numbers.ts';
import type { ExecutionContext } from './context.ts';

export function checkContext(context: unknown): void {
  if (typeof context !== 'object' || context === null) {
    throw new VolleyError(
      'INVALID_VALUE',
      `An execution is described by an object such as { toolName: 'fetch' }, but it is ${show(context)}.`,
    );
  }
  const { signal } = context as Partial<ExecutionContext>;
  const isSignal = typeof signal?.aborted === 'boolean' && typeof signal.addEventListener === 'function';
  if (signal === undefined || isSignal) return;
  throw new VolleyError('INVALID_VALUE', `signal must be an AbortSignal, but it is ${show(signal)}.`);
}

export function checkFunction(run: unknown): void {
  if (typeof run === 'function') return;
  throw new VolleyError(
    'INVALID_VALUE',
    `The work of an execution must be a function, but it is ${show(run)}.`,
  );
}
