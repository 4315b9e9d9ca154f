import type { BatchAnswer } from '../../batch/answer.ts';
import { ERROR_CODES, type ErrorCode, VolleyError } from '../../core/errors.ts';
import type { ServerParts } from '../parts.ts';

/** Asks the batch executor; what it refuses is thrown. Fields that are undefined are left out. */
export async function ask(
  { executor, texts }: ServerParts,
  request: Readonly<Record<string, unknown>>,
): Promise<BatchAnswer> {
  const fields = Object.entries(request).filter(([, value]) => value !== undefined);
  const answer = await executor.handle(Object.fromEntries(fields));
  texts.clear();
  return accepted(answer);
}

/** The answer, unless it is a refusal. */
function accepted(answer: BatchAnswer): BatchAnswer {
  const { error, data } = answer;
  if (error === undefined) return answer;
  const { code: _, ...details } = data;
  const code = error.code in ERROR_CODES ? (error.code as ErrorCode) : 'INTERNAL';
  throw new VolleyError(code, error.message, details);
}
