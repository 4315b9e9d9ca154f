import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { shellQuote } from '../../../src/core/shell-quote.ts';
import { buildProgram } from '../../e2e/support/built-program.ts';

const { main } = await buildProgram();

/** How the program is started on the terminal: as its only process, or by an interactive shell that was typed to. */
export type StartedBy = 'itself' | 'shell';

export interface Terminal {
  /** Everything that has reached the terminal so far, byte by byte. */
  output(): string;
  type(text: string): void;
  /** Closes it, as closing a window does: the kernel tells its processes, and so does an interactive shell. */
  close(): Promise<void>;
  /** Settles with the exit status when what was started has ended by itself. */
  readonly ended: Promise<number | null>;
}

/** Runs the compiled program on a terminal of its own, a pseudo-terminal that `script` makes. */
export function onTerminal(
  folder: string,
  args: readonly string[],
  startedBy: StartedBy = 'itself',
  env: Readonly<Record<string, string>> = {},
): Terminal {
  const command = [process.execPath, main, ...args].map(shellQuote).join(' ');
  const leader = startedBy === 'shell' ? 'bash --norc --noprofile -i' : `exec ${command}`;
  const child = spawn('script', ['-qfec', leader, '/dev/null'], {
    cwd: folder,
    env: { ...process.env, TERM: 'xterm', SHELL: '/bin/sh', PS1: '$ ', CI: undefined, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const pieces: Buffer[] = [];
  child.stdout.on('data', (piece: Buffer) => pieces.push(piece));
  child.stdin.on('error', () => undefined);
  if (startedBy === 'shell') child.stdin.write(`${command}\n`);
  const ended = once(child, 'close').then(([status]) => status as number | null);
  onTestFinished(() => hangUp(child));
  return {
    output: () => Buffer.concat(pieces).toString(),
    type: (text) => void child.stdin.write(text),
    close: () => hangUp(child),
    ended,
  };
}

/** Without the program that keeps it, a pseudo-terminal is closed. */
async function hangUp(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}
