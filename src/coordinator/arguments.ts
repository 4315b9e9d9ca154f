import { VolleyError } from '../core/errors.ts';
import { isThenable } from '../core/values.ts';
import { type CheckResult, describeIssues } from '../tools/schema.ts';
import type { Tool } from '../tools/tool.ts';

/** For how long a schema that answers later is waited for: it may never do so. */
export interface CheckLimits {
  readonly limitMs: number;
  /** Ends the waiting with its reason. */
  readonly stop: AbortSignal | undefined;
}

/** The input that the tool gets, or an error that names the tool, the field and the rule. */
export async function checkArguments(tool: Tool, given: unknown): Promise<unknown> {
  return validInput(tool, await tool.input.check(given));
}

/** What the schema of a tool says: at once where it can, and within limits where it takes its time. */
export function askSchema(
  tool: Tool,
  given: unknown,
  limits: () => CheckLimits,
): CheckResult<unknown> | Promise<CheckResult<unknown>> {
  const checking = tool.input.check(given);
  return isThenable(checking) ? answerWithin(limits(), checking, tool) : checking;
}

export function validInput(tool: Tool, checked: CheckResult<unknown>): unknown {
  if (checked.ok) return checked.value;
  throw new VolleyError(
    'INVALID_ARGUMENTS',
    `The arguments of ${tool.name} are not valid: ${describeIssues(checked.issues)}.`,
    { tool: tool.name, issues: checked.issues },
  );
}

/** The result as the tool's own schema gives it back. */
export async function checkResult(tool: Tool, value: unknown): Promise<unknown> {
  if (tool.output === undefined) return value;
  const checked = await tool.output.check(value);
  if (checked.ok) return checked.value;
  throw new VolleyError(
    'INVALID_RESULT',
    `${tool.name} returned a result that does not match its output schema: ${describeIssues(checked.issues)}.`,
    { tool: tool.name, issues: checked.issues },
  );
}

function answerWithin<T>(
  { limitMs, stop }: CheckLimits,
  checking: Promise<CheckResult<T>>,
  { name }: Tool,
): Promise<CheckResult<T>> {
  return new Promise((resolve, reject) => {
    const giveUp = () =>
      reject(
        new VolleyError(
          'EXECUTION_TIMEOUT',
          `The arguments of ${name} were not checked within ${limitMs} ms: the schema of the tool takes too long, or never finishes.`,
          { tool: name, limitMs },
        ),
      );
    const end = () => {
      clearTimeout(timer);
      stop?.removeEventListener('abort', onStop);
    };
    const onStop = () => {
      end();
      reject(stop!.reason);
    };
    const timer = setTimeout(giveUp, limitMs);
    stop?.addEventListener('abort', onStop);
    checking.then(resolve, reject).finally(end);
  });
}
