import { Script } from 'node:vm';
import { VolleyError } from '../core/errors.ts';

/** Throws `INVALID_PROGRAM` for a syntax error. The program is compiled and not run. */
export function checkProgram(source: string): void {
  try {
    new Script(`(async () => {${source}\n})`, { filename: 'program' });
  } catch (error) {
    const { message, stack = '' } = error as Error;
    const found = Number(/^program:(\d+)/.exec(stack)?.[1] ?? 1);
    const last = source.trimEnd().split('\n').length;
    const [line, problem] = found > last ? [last, 'something is not closed'] : [found, message];
    throw new VolleyError('INVALID_PROGRAM', `The program has a syntax error in line ${line}: ${problem}.`, {
      line,
    });
  }
}
