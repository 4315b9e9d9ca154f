import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { buildProgram } from '../../e2e/support/built-program.ts';

const built = await buildProgram();

/** A program of `fixtures/` in a process of its own, which ends with the test. */
export interface Program {
  readonly pid: number;
  /** The next line that it prints; undefined at its end. */
  line(): Promise<string | undefined>;
  send(line: string): void;
  /** kill -9, and waits until it is gone. */
  kill(): Promise<void>;
}

/** `before` is a command that starts what follows it, such as a shell that sets a limit. */
export function startProgram(name: string, args: readonly string[], before: readonly string[] = []): Program {
  const file = built.program(`store/fixtures/${name}`);
  const [command, ...rest] = [...before, process.execPath, file, ...args];
  const child = spawn(command!, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => end(child));
  child.stdin.on('error', () => undefined);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    pid: child.pid!,
    line: async () => {
      const { value, done } = await lines.next();
      return done ? undefined : value;
    },
    send: (line) => child.stdin.write(`${line}\n`),
    kill: () => end(child),
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
