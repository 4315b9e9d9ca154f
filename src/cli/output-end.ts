import { EXIT, type Io, Output } from './io.ts';
import { reportError } from './report.ts';

/** Who reads is gone: a program that has ended, a terminal that was closed. */
const GONE = new Set<string | undefined>(['EPIPE', 'ECONNRESET', 'EIO']);

type Process = Pick<NodeJS.Process, 'stdout' | 'stderr' | 'env' | 'exit' | 'exitCode'>;

/**
 * What becomes of a process when its output cannot be written any more. If that output is all it is for
 * (`volley list | head -1`), it ends at once, as SIGPIPE would end it; otherwise what was begun goes on to its end, and
 * its own status counts.
 */
export function watchOutput(own: Process): Pick<Io, 'outliveReader'> {
  let outlives = false;
  const io = { stdout: new Output(own.stdout), stderr: new Output(own.stderr), env: own.env };
  own.stdout.on('error', (error: NodeJS.ErrnoException) => {
    const isGone = GONE.has(error.code);
    if (!isGone) reportError(new Error(`Cannot write to standard output: ${error.message}`), {}, io);
    if (!outlives) own.exit(isGone ? EXIT.unread : EXIT.failed);
    // Nobody has missed what nobody reads; of anything else, what was asked for was not all done.
    if (!isGone) own.exitCode ||= EXIT.failed;
  });
  // Nobody watches any more (`volley run audit.json 2>&1 | head`), and there is nowhere to say anything else.
  own.stderr.on('error', () => undefined);
  return {
    outliveReader: () => {
      outlives = true;
    },
  };
}
