import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Case, Figures } from './scenario.ts';

const CHILD = fileURLToPath(new URL('./child.ts', import.meta.url));

/** Measures one contestant once, in a process that has seen nothing else. It is given the flags of this one. */
export function runChild(scenario: string, contestant: string, work: Case): Promise<Figures> {
  return new Promise((resolve, reject) => {
    const child = fork(CHILD, [scenario, contestant, JSON.stringify(work)]);
    child.once('message', (figures) => resolve(figures as Figures));
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      // After a message this has no effect any more.
      reject(
        new Error(`${contestant} (${scenario}, ${work.label}) ended with ${signal ?? `exit status ${code}`}`),
      );
    });
  });
}
