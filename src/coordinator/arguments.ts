import { VolleyError } from '../core/errors.ts';
import { describeIssues } from '../tools/schema.ts';
import type { Tool } from '../tools/tool.ts';

/** The input that the tool gets, or an error that names the tool, the field and the rule. */
export async function checkArguments(tool: Tool, given: unknown): Promise<unknown> {
  const checked = await tool.input.check(given);
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
    `${tool.name} returned something else than it promises: ${describeIssues(checked.issues)}.`,
    { tool: tool.name, issues: checked.issues },
  );
}
