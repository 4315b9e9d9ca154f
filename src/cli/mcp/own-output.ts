import type { Writable } from 'node:stream';
import type { Io } from '../io.ts';

export interface OwnOutput extends Pick<Writable, 'write'> {
  /** Gives standard output back to everybody. */
  release(): void;
}

/**
 * Keeps standard output for the protocol: what tools and modules print goes to standard error. A client that is gone
 * is no fault here: what runs is stopped and written first.
 */
export function ownOutput({ stdout: { raw: stdout }, stderr: { raw: stderr } }: Io): OwnOutput {
  const { write } = stdout;
  const listeners = stdout.rawListeners('error') as ((error: Error) => void)[];
  const ignore = () => undefined;
  stdout.removeAllListeners('error').on('error', ignore);
  stderr.on('error', ignore);
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  return {
    write: write.bind(stdout) as Writable['write'],
    release: () => {
      stdout.write = write;
      stdout.off('error', ignore);
      for (const listener of listeners) stdout.on('error', listener);
    },
  };
}
