#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { COMMANDS } from './commands.ts';
import { runProgram } from './program.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

// A reader that goes away (`volley list | head -1`) ends us quietly.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

process.exitCode = await runProgram(process.argv.slice(2), COMMANDS, version, {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
});
