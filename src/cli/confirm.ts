import { createInterface } from 'node:readline';
import type { Io } from './io.ts';

/** Closing the input, with Ctrl-D or with the terminal, does not mean yes. Ctrl-C means to quit. */
export async function confirm(
  question: string,
  { stdin, stdout }: Pick<Io, 'stdin' | 'stdout'>,
): Promise<'yes' | 'no' | 'closed' | 'interrupted'> {
  const lines = createInterface({ input: stdin, output: stdout.raw });
  try {
    return await new Promise((resolve) => {
      lines.once('SIGINT', () => resolve('interrupted')).once('close', () => resolve('closed'));
      lines.question(`${question} [y/N] `, (said) => resolve(/^y(es)?$/i.test(said.trim()) ? 'yes' : 'no'));
    });
  } finally {
    lines.close();
  }
}
