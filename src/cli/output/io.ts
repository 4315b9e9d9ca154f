import type { EnvironmentVariables } from '../../config/environment.ts';
import { printableJson, printableText } from '../../core/printable-text.ts';
import { onlyOwnStyles } from './colors.ts';

/** The streams and the environment of a command. */
export interface Io {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: EnvironmentVariables;
  readonly cwd: string;
  /** From now on the command runs to its end even if nobody reads its output. */
  outliveReader(): void;
}

/** The only place where text reaches a terminal, a pipe or a file. Its output cannot control a terminal. */
export class Output {
  constructor(
    /** Writes bytes unfiltered: for protocols, and for raw results on request. */
    readonly raw: NodeJS.WriteStream,
  ) {}

  get isTTY(): boolean {
    return this.raw.isTTY === true;
  }

  get columns(): number | undefined {
    return this.raw.columns;
  }

  write(text: string): void {
    this.raw.write(printableText(text));
  }

  /** Keeps the styles of `createColors`. Make untrusted text printable before. */
  writeStyled(text: string): void {
    this.raw.write(onlyOwnStyles(text));
  }

  /** Writes a value on one line. On a terminal, everything unprintable is escaped. */
  writeJson(value: unknown): void {
    this.writeJsonText(JSON.stringify(value));
  }

  writeJsonText(json: string): void {
    this.raw.write(`${this.isTTY ? printableJson(json) : json}\n`);
  }
}

/** `unread`: nobody reads standard output any more. */
export const EXIT = { ok: 0, failed: 1, usage: 2, interrupted: 130, unread: 141 } as const;

export type ExitStatus = (typeof EXIT)[keyof typeof EXIT];

/** Asks a yes-or-no question. Closing the input, with Ctrl-D or with the terminal, is no yes. */
export async function confirm(
  question: string,
  { stdin, stdout }: Pick<Io, 'stdin' | 'stdout'>,
): Promise<'yes' | 'no' | 'closed' | 'interrupted'> {
  const { createInterface } = await import('node:readline');
  const lines = createInterface({ input: stdin, output: stdout.raw });
  try {
    return await new Promise((resolve) => {
      lines.once('SIGINT', () => resolve('interrupted')).once('close', () => resolve('closed'));
      lines.question(`${question} [y/N] `, (answer) =>
        resolve(/^y(es)?$/i.test(answer.trim()) ? 'yes' : 'no'),
      );
    });
  } finally {
    lines.close();
  }
}
