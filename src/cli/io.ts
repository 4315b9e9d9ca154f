/** What a command may touch of the world around it. */
export interface Io {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Whatever becomes of those who read standard output, what is begun now goes on. */
  outliveReader(): void;
}

/** What a program that calls us learns from the exit status. */
export const EXIT = { ok: 0, failed: 1, usage: 2, interrupted: 130, unread: 141 } as const;

export type ExitStatus = (typeof EXIT)[keyof typeof EXIT];
