import { ACTIONS } from '../../batch/actions/all.ts';
import { readRequest } from '../../batch/input/request.ts';
import type { McpScope } from './backend.ts';

const NAMES = ACTIONS.map(({ name }) => name);

/** What changes nothing, and what destroys; all else needs `run`. */
const SCOPES: ReadonlyMap<string, McpScope> = new Map([
  ['status', 'read'],
  ['results', 'read'],
  ['list', 'read'],
  ['wait', 'read'],
  ['clear', 'admin'],
]);

/**
 * What a request of `batch_executor_tool` needs. It is read in the way of the executor, envelopes and JSON texts
 * included, so that no other way of writing it down needs less. One that cannot be read is refused there.
 */
export function scopeOfRequest(request: unknown): McpScope {
  let action: string;
  try {
    ({ action } = readRequest(request, NAMES));
  } catch {
    return 'run';
  }
  return SCOPES.get(action) ?? 'run';
}
