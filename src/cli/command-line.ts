import { setImmediate as nextTurn } from 'node:timers/promises';
import { packageVersion } from '../config/package-version.ts';
import { TRUST_VARIABLE } from '../config/user-folder.ts';
import { VolleyError } from '../core/errors.ts';
import { COMMANDS } from './commands/all.ts';
import { EXIT, type Io, Output } from './output/io.ts';
import { reportError } from './output/messages.ts';
import { runProgram } from './program/program.ts';

/** The reader ended, or the terminal was closed. */
const NO_READER = new Set<string | undefined>(['EPIPE', 'ECONNRESET', 'EIO']);

/** Runs the command of this process, and ends the process. */
export async function runCommandLine(): Promise<never> {
  const argv = process.argv.slice(2);
  const output = { stdout: new Output(process.stdout), stderr: new Output(process.stderr) };
  // Node would print an uncaught error unfiltered, including escape sequences in its message.
  process.on('uncaughtException', (error: unknown) => {
    output.stderr.write(`${(error as Error | null)?.stack ?? String(error)}\n`);
    process.exit(EXIT.failed);
  });
  const env = takeEnvironment();
  const outliveReader = watchOutput({ ...output, env });
  const cwd = workingFolder();
  const status =
    cwd instanceof VolleyError
      ? reportError(cwd, { json: argv.includes('--json') }, { ...output, env: process.env })
      : await runProgram(argv, COMMANDS, packageVersion(), {
          stdin: process.stdin,
          ...output,
          env,
          cwd,
          outliveReader,
        });
  // Wait until everything is written, or nobody reads it.
  for (const stream of [process.stdout, process.stderr]) {
    if (stream.writable) await new Promise<void>((resolve) => stream.write('', () => resolve()));
  }
  await nextTurn();
  // Lost output may have set one already.
  process.exitCode = status || process.exitCode || 0;
  // A tool that did not stop may have left timers, which would keep the process alive.
  return process.exit();
}

/**
 * Handles output that cannot be written. A command that only shows something (`volley list | head -1`) ends, as with
 * SIGPIPE. Others run to their end, and their own status counts. Returns a function that makes the command such a one.
 */
function watchOutput(io: Pick<Io, 'stdout' | 'stderr' | 'env'>): () => void {
  let outlives = false;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    const hasNoReader = NO_READER.has(error.code);
    if (!hasNoReader) reportError(new Error(`Cannot write to standard output: ${error.message}`), {}, io);
    if (!outlives) process.exit(hasNoReader ? EXIT.unread : EXIT.failed);
    if (!hasNoReader) process.exitCode ||= EXIT.failed;
  });
  // Nowhere left to report it (`volley run audit.json 2>&1 | head`).
  process.stderr.on('error', () => undefined);
  return () => {
    outlives = true;
  };
}

/** Takes the variables that nothing we start may inherit out of the process environment. */
function takeEnvironment(): NodeJS.ProcessEnv {
  const { [TRUST_VARIABLE]: hash } = process.env;
  if (hash === undefined) return process.env;
  delete process.env[TRUST_VARIABLE];
  return { ...process.env, [TRUST_VARIABLE]: hash };
}

function workingFolder(): string | VolleyError {
  try {
    return process.cwd();
  } catch (cause) {
    const message = 'The current folder no longer exists. Change to one that does.';
    return new VolleyError('INVALID_VALUE', message, {}, { cause });
  }
}
