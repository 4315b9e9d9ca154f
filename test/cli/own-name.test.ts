import { describe, expect, it } from 'vitest';
import { commandWords } from '../../src/cli/output/command-words.ts';

describe('a command to go on with', () => {
  it.each([
    ['from a shell', {}, 'volley'],
    ['by npx', { npm_command: 'exec' }, 'npx volley'],
    ['by a script of a package', { npm_lifecycle_event: 'work' }, 'npx volley'],
  ])('can be typed as it stands where the program was started %s', (_, env, name) => {
    expect(commandWords('1 task added. Run it with "start".', 'audit', { env })).toBe(
      `1 task added. Run it with: ${name} start --batch audit`,
    );
  });
});
