import { printableJson, printableText } from '../core/printable-text.ts';
import { onlyOwnStyles } from './output/colours.ts';

/** What a command may touch of the world around it. */
export interface Io {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Whatever becomes of those who read standard output, what is begun now goes on. */
  outliveReader(): void;
}

/** The only place where text reaches a terminal, a pipe or a file. Its output cannot control a terminal. */
export class Output {
  constructor(
    /** Takes bytes as they are, for what is no text for people: protocols, and results on request. */
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

  /** The same with the styles of `createColours`. Text of others in it has been through `printableText` before. */
  writeStyled(text: string): void {
    this.raw.write(onlyOwnStyles(text));
  }

  /** A value for programs, on a line. A terminal gets it with everything unprintable escaped. */
  writeJson(value: unknown): void {
    this.writeJsonText(JSON.stringify(value));
  }

  writeJsonText(json: string): void {
    this.raw.write(`${this.isTTY ? printableJson(json) : json}\n`);
  }
}

/** What a program that calls us learns from the exit status. */
export const EXIT = { ok: 0, failed: 1, usage: 2, interrupted: 130, unread: 141 } as const;

export type ExitStatus = (typeof EXIT)[keyof typeof EXIT];
