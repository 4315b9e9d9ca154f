import { show } from '../core/numbers.ts';
import { COMPUTE } from '../core/script-tools.ts';
import type { ToolCall } from './call.ts';

/** The call with the text of `compute` as an expression in its arguments, so that it is resolved like any other. */
export function withExpression(call: ToolCall): ToolCall {
  const { name, arguments: given } = call;
  if (name !== COMPUTE) return call;
  const { expression, ...rest } = Object(given) as { expression?: unknown };
  const [other] = Object.keys(rest);
  if (other !== undefined)
    return { ...call, invalid: `there is a field ${show(other)} next to "expression".` };
  if (typeof expression !== 'string')
    return {
      ...call,
      invalid: `"expression" must be a string with JavaScript, but it is ${show(expression)}.`,
    };
  return { ...call, arguments: { expression: { $expr: expression } } };
}
