import type { BatchAnswer } from '../../../batch/answer.ts';
import { ERROR_CODES, type ErrorCode, VolleyError } from '../../../core/errors.ts';
import type { McpCall } from '../tool.ts';

/** Asks the batch executor; what it refuses is thrown. Fields that are undefined are left out. */
export async function ask(
  { backend }: Pick<McpCall, 'backend'>,
  request: Readonly<Record<string, unknown>>,
): Promise<BatchAnswer> {
  const fields = Object.entries(request).filter(([, value]) => value !== undefined);
  const answer = await backend.executor.handle(Object.fromEntries(fields));
  if (answer.error === undefined) return answer;
  const { code, message } = answer.error;
  throw new VolleyError(code in ERROR_CODES ? (code as ErrorCode) : 'INTERNAL', message);
}
