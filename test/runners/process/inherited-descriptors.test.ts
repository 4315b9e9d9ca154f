import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { LAUNCHERS } from './support/launch.ts';

const FIXTURE = fileURLToPath(new URL('./fixtures/lists-descriptors.ts', import.meta.url));
/** Node itself hides only those that are small, or that follow one another. */
const GIVEN = [9, 40, 200];

describe.runIf(process.platform === 'linux').each(LAUNCHERS.map(([name]) => name))('by %s', (name) => {
  test.each(['no channel', 'channel'])(
    'a program gets no descriptor that Volley was given (%s)',
    async (form) => {
      const folder = openSync('/etc', 'r');
      const stdio = Array.from({ length: Math.max(...GIVEN) + 1 }, (_, index) =>
        index === 1 ? 'pipe' : index === 2 ? 'inherit' : GIVEN.includes(index) ? folder : 'ignore',
      );
      const child = spawn(process.execPath, ['--import', 'tsx', FIXTURE, name, form], { stdio });
      closeSync(folder);
      const [found] = await Promise.all([text(child.stdout!), once(child, 'exit')]);
      expect(found.match(/(pipe|socket):/g)!.length).toBeGreaterThan(1);
      expect(found).not.toContain('/etc');
    },
    180_000,
  );
});
