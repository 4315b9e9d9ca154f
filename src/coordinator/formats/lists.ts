import { VolleyError } from '../../core/errors.ts';
import { show } from '../../core/numbers.ts';
import type { CallResult } from '../call.ts';

const STATUSES: ReadonlySet<unknown> = new Set<CallResult['status']>([
  'completed',
  'failed',
  'cancelled',
  'skipped',
]);

/** Tools as a caller without types gives them. */
export function toolList<T extends { readonly name: string }>(tools: readonly T[]): readonly T[] {
  const expected = 'tools are expected as a list, such as coordinator.tools() gives';
  const list = listFrom(tools, expected);
  for (const [index, tool] of list.entries()) {
    const name: unknown = Object(tool).name;
    if (typeof name !== 'string')
      throw invalid(`${expected}, but the name of tool ${index} is ${show(name)}`);
  }
  return list;
}

/** Results as a caller without types gives them. */
export function resultList(results: readonly CallResult[]): readonly CallResult[] {
  const expected = 'results are expected as a list, such as executeParallel() resolves with';
  const list = listFrom(results, expected);
  for (const [index, result] of list.entries()) {
    const status: unknown = Object(result).status;
    if (!STATUSES.has(status))
      throw invalid(`${expected}, but the status of result ${index} is ${show(status)}`);
  }
  return list;
}

function listFrom<T>(given: readonly T[], expected: string): readonly T[] {
  if (Array.isArray(given)) return given;
  const isPromise = typeof Object(given).then === 'function';
  throw invalid(`${expected}, but this is ${isPromise ? 'a promise: await it first' : show(given)}`);
}

function invalid(message: string): VolleyError {
  return new VolleyError('INVALID_VALUE', `${message[0]!.toUpperCase()}${message.slice(1)}.`);
}
