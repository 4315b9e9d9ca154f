import { expect, it } from 'vitest';
import { type Attack, HostileCaller } from './support/hostile-caller.ts';

const SLOW = { timeout: 300_000 };
const shell = (command: string): Attack => ({ function: 'shell', params: { command } });

/** With a smaller limit, `test/config/path-guard.test.ts` has the same. */
it(
  'a folder beyond the limit of the scan fails the call that made so many, and refuses the next',
  SLOW,
  async () => {
    const agent = new HostileCaller();
    const results = await agent.attack(
      shell(
        `perl -e 'for my $a (1 .. 250) { mkdir "m$a"; mkdir "m$a/$_" for 1 .. 200 } mkdir "m9/9/.husky"'`,
      ),
      shell('touch started'),
    );
    expect(results.map(({ code }) => code)).toEqual(['PATH_PROTECTED', 'PATH_PROTECTED']);
    expect(results[1]?.message).toContain('tools.roots');
    expect(agent.read('started')).toBeUndefined();
  },
);
