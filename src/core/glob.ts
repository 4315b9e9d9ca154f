import { VolleyError } from './errors.ts';
import { show } from './numbers.ts';

/** Nobody writes a longer one, and nobody nests more. What is made of a glob takes time and stack by both. */
const LONGEST = 4096;
const DEEPEST = 50;
/** Stars in one name of a path, and names that are `**`: matching may take time to the power of either. */
const MAX_STARS = 3;

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
  if (starsIn(glob) > MAX_STARS) return `has more than ${MAX_STARS} stars in one name`;
  if (glob.split('/').filter((name) => /^\*{2,}$/.test(name)).length > MAX_STARS)
    return `crosses folders with ** more than ${MAX_STARS} times`;
  return undefined;
}

/** The most stars that one name may have, whichever of its alternatives is taken. */
function starsIn(glob: string): number {
  const open: { readonly before: number; most: number }[] = [];
  let [stars, most] = [0, 0];
  for (let at = 0; at < glob.length; at++) {
    const sign = glob[at]!;
    const group = open.at(-1);
    if (sign === '\\') at++;
    else if (sign === '*' && glob[at - 1] !== '*') stars++;
    else if (sign === '/') stars = 0;
    else if (sign === '{' || sign === '(') open.push({ before: stars, most: stars });
    else if (group !== undefined && ',|})'.includes(sign)) {
      group.most = Math.max(group.most, stars);
      stars = ',|'.includes(sign) ? group.before : open.pop()!.most;
    }
    most = Math.max(most, stars);
  }
  return most;
}

export function checkGlob(glob: string): void {
  const problem = globProblem(glob);
  if (problem === undefined) return;
  throw new VolleyError('INVALID_VALUE', `The glob ${show(glob)} ${problem}: write a simpler one.`);
}
