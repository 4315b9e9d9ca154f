#!/usr/bin/env node
import { packageVersion } from '../config/package-version.ts';
import { COMMANDS } from './commands.ts';
import { watchOutput } from './output-end.ts';
import { runProgram } from './program.ts';

const status = await runProgram(process.argv.slice(2), COMMANDS, packageVersion(), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
  ...watchOutput(process),
});
// Output that was lost may have set one already.
process.exitCode = status || process.exitCode || 0;
