import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { WORKERS } from './contestant.ts';

/** Starts worker processes and waits until each has said that it is ready. */
export async function startChildren(
  script: URL,
  argsOf: (index: number) => readonly string[],
): Promise<ChildProcess[]> {
  const file = fileURLToPath(script);
  const children = Array.from({ length: WORKERS }, (_, index) => fork(file, [...argsOf(index)]));
  await Promise.all(children.map((child) => once(child, 'message')));
  return children;
}

export async function stopChildren(children: readonly ChildProcess[]): Promise<void> {
  await Promise.all(
    children.map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }),
  );
}
