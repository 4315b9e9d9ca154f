import { VolleyError } from './errors.ts';
import { show } from './numbers.ts';

/** Nobody writes a longer one, and nobody nests more. What is made of a glob takes time and stack by both. */
const LONGEST = 4096;
const DEEPEST = 50;

/** What is too much of a glob, in words; undefined where it can be used. */
export function globProblem(glob: string): string | undefined {
  if (glob.length > LONGEST) return `is longer than ${LONGEST} characters`;
  let depth = 0;
  for (let at = 0; at < glob.length; at++) {
    const sign = glob[at]!;
    if (sign === '\\') at++;
    else if ('([{'.includes(sign) && ++depth > DEEPEST)
      return `has brackets in one another more than ${DEEPEST} deep`;
    else if (')]}'.includes(sign)) depth = Math.max(0, depth - 1);
  }
  return undefined;
}

export function checkGlob(glob: string): void {
  const problem = globProblem(glob);
  if (problem === undefined) return;
  throw new VolleyError('INVALID_VALUE', `The glob ${show(glob)} ${problem}: write a simpler one.`);
}
