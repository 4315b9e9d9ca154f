import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { onTestFinished } from 'vitest';
import { COMMANDS } from '../../../src/cli/commands/all.ts';
import { type Io, Output } from '../../../src/cli/output/io.ts';
import { runProgram } from '../../../src/cli/program/program.ts';
import { trustFolder } from '../../support/trust.ts';

export interface Said {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder with the given files that is gone after the test. */
export function folderWith(files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'volley-cli-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

/** Runs a command line in this process and in a trusted folder, as the program would; at a terminal, if it is told how wide that is. */
export async function say(
  folder: string,
  argv: readonly string[],
  input: string | Uint8Array = '',
  columns?: number,
  env: Readonly<Record<string, string>> = {},
  stderr = new PassThrough(),
): Promise<Said> {
  await trustFolder(folder);
  const terminal = columns === undefined ? {} : { isTTY: true, columns };
  const streams = { stdout: Object.assign(new PassThrough(), terminal), stderr };
  const io = {
    stdout: outputTo(streams.stdout),
    stderr: outputTo(streams.stderr),
    stdin: Readable.from([input]),
    // What tests approve is not approved for the user who runs them.
    env: { NO_COLOR: '1', XDG_CONFIG_HOME: process.env['XDG_CONFIG_HOME'], ...env },
    cwd: folder,
    outliveReader: () => undefined,
  } as unknown as Io;
  const status = await runProgram(argv, COMMANDS, '1.2.3', io);
  return { status, stdout: textOf(streams.stdout), stderr: textOf(stderr) };
}

/** An output of a command that a test reads. */
export function outputTo(stream: PassThrough): Output {
  return new Output(stream as unknown as NodeJS.WriteStream);
}

/** What was written to it so far. */
export function textOf(stream: PassThrough): string {
  const pieces: Buffer[] = [];
  for (let piece = stream.read(); piece !== null; piece = stream.read()) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}
