import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

export interface Program {
  readonly pid: number;
  line(): Promise<string | undefined>;
  send(line: string): void;
  /** kill -9, and waits until it is gone. */
  kill(): Promise<void>;
}

/** A program of `fixtures/` in a process of its own, which ends with the test. */
export function startProgram(name: string, args: readonly string[]): Program {
  const file = fileURLToPath(new URL(`../fixtures/${name}.mjs`, import.meta.url));
  const child = spawn(process.execPath, [file, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  onTestFinished(kill);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    pid: child.pid!,
    line: async () => (await lines.next()).value,
    send: (line) => void child.stdin.write(`${line}\n`),
    kill,
  };
}
