import type { Outcome } from '../engine/outcome.ts';
import type { CallError } from './call.ts';
import type { Redactor } from './redactor.ts';
import { toCallError } from './reported-error.ts';

type FailedOutcome = Extract<Outcome, { status: 'failed' }>;

/** How the engine knows what waits for the child that does the work of a call. */
export const PREPARING = 'prepare ';

/**
 * Why an execution failed, for who knows its tool by the name `called`: the engine speaks of the name under which calls
 * are limited, which is one for all tools of an MCP server. `plain` puts the engine's ids into the words of the caller.
 */
export function outcomeError(
  { error, toolName }: FailedOutcome,
  called: string,
  redactor: Redactor,
  plain: (text: string) => string,
): CallError {
  const { message, stack, ...rest } = toCallError(error, redactor);
  const isOfEngine = rest.code?.startsWith('EXECUTION_') === true && toolName !== called;
  const limited = toolName.startsWith(PREPARING) ? toolName.slice(PREPARING.length) : toolName;
  const words = (text: string) =>
    plain(
      isOfEngine
        ? text.replace(`(${PREPARING}${limited})`, `(${called})`).replace(`(${limited})`, `(${called})`)
        : text,
    );
  return { ...rest, message: words(message), ...(stack !== undefined && { stack: words(stack) }) };
}
