#!/usr/bin/env node
import { packageVersion } from '../config/package-version.ts';
import { COMMANDS } from './commands.ts';
import { runProgram } from './program.ts';

const GONE = new Set<string | undefined>(['EPIPE', 'EIO']);

// A reader that goes away (`volley list | head -1`) ends us quietly.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (!GONE.has(error.code)) throw error;
  process.exit(0);
});

// Nobody watches any more (`volley run audit.json 2>&1 | head`, a terminal that was closed): what was begun goes on.
process.stderr.on('error', (error: NodeJS.ErrnoException) => {
  if (!GONE.has(error.code)) throw error;
});

process.exitCode = await runProgram(process.argv.slice(2), COMMANDS, packageVersion(), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
});
