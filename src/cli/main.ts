#!/usr/bin/env node
import { setImmediate as nextTurn } from 'node:timers/promises';
import { packageVersion } from '../config/package-version.ts';
import { TRUST_VARIABLE } from '../config/user-folder.ts';
import { VolleyError } from '../core/errors.ts';
import { COMMANDS } from './commands.ts';
import { EXIT, Output } from './io.ts';
import { watchOutput } from './output-end.ts';
import { runProgram } from './program.ts';
import { reportError } from './report.ts';

const argv = process.argv.slice(2);
const output = { stdout: new Output(process.stdout), stderr: new Output(process.stderr) };
// Node would print an uncaught error unfiltered, including escape sequences in its message.
process.on('uncaughtException', (error: unknown) => {
  output.stderr.write(`${(error as Error | null)?.stack ?? String(error)}\n`);
  process.exit(EXIT.failed);
});
const { outliveReader } = watchOutput(process);
const env = ownEnvironment();
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
for (const stream of [process.stdout, process.stderr]) {
  // What is written is out, or nobody takes it.
  if (stream.writable) await new Promise<void>((resolve) => stream.write('', () => resolve()));
}
await nextTurn();
// Output that was lost may have set one already.
process.exitCode = status || process.exitCode || 0;
// A tool that did not stop when it was told to leaves timers and the like, which would keep a program that is done.
process.exit();

/** The environment with what is for Volley alone: nothing that it starts inherits that. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const { [TRUST_VARIABLE]: hash } = process.env;
  if (hash === undefined) return process.env;
  delete process.env[TRUST_VARIABLE];
  return { ...process.env, [TRUST_VARIABLE]: hash };
}

/** Another program may have removed it while a shell was in it. */
function workingFolder(): string | VolleyError {
  try {
    return process.cwd();
  } catch (cause) {
    const message = 'The folder that this runs in is gone: change to one that exists.';
    return new VolleyError('INVALID_VALUE', message, {}, { cause });
  }
}
