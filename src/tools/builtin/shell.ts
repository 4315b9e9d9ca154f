import { mkdir } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { VolleyError } from '../../core/errors.ts';
import { ToolFailure } from '../../engine/tool-failure.ts';
import {
  type CommandOptions,
  type CommandResult,
  runCommand,
  runConfined,
} from '../../runners/process/command.ts';
import type { OutputStream } from '../../runners/process/launcher.ts';
import type { ToolContext } from '../../runners/runner.ts';
import { defineTool } from '../define-tool.ts';
import type { Tool } from '../tool.ts';
import type { ShellSettings, ToolEnvironment } from './environment.ts';
import { PATH } from './input-fields.ts';
import { fileFailure, refusal } from './refusal.ts';
import { Roots } from './roots.ts';

/** Shell keywords and builtins; the shell may behave differently from a program with that name. */
const OWN_WORDS = new Set(
  `. : [ alias bg bind break builtin caller case cd chdir command continue coproc declare dirs disown do done echo elif
  else enable esac eval exec exit export false fc fg fi for function getopts hash help history if in jobs kill let
  local logout mapfile popd printf pushd pwd read readarray readonly return select set shift shopt source suspend test
  then time times trap true type typeset ulimit umask unalias unset until wait while`.split(/\s+/),
);

/** Only characters without a meaning to any shell; the first word is not an assignment. */
const PLAIN = /^[\w./+-]+(?: +[\w./+:=@%,-]+)*$/;

/**
 * The words of a command that a POSIX shell would merely start: then the shell can be skipped, as in `make`, which
 * halves the work. Undefined for any other command. If the program cannot be started this way, the shell is used.
 */
export function simpleCommand(command: string): [string, ...string[]] | undefined {
  if (!PLAIN.test(command)) return undefined;
  const words = command.split(/ +/) as [string, ...string[]];
  return OWN_WORDS.has(words[0]) || words[0].startsWith('-') ? undefined : words;
}

/** The shell whose handling of simple commands is known. */
const POSIX_SHELL = '/bin/sh -c';
const MAX_COMMAND_LENGTH = 100_000;
const MAX_INPUT_LENGTH = 10_000_000;
const MAX_FILES = 1000;
const MAX_TIMEOUT_MS = 86_400_000;
/** How much output of a failed command goes into the error message. */
const SHOWN_LINES = 5;
const SHOWN_LENGTH = 500;
const STEP_LENGTH = 200;

const FILES = z.array(PATH).max(MAX_FILES).optional();

const INPUT = z.strictObject({
  command: z.string().min(1).max(MAX_COMMAND_LENGTH).describe('The command, as typed in a shell.'),
  cwd: PATH.optional().describe('The folder to run in. Default: the working folder.'),
  timeout_ms: z
    .int()
    .min(1)
    .max(MAX_TIMEOUT_MS)
    .optional()
    .describe('The timeout in milliseconds, after which it is killed.'),
  stdin: z.string().max(MAX_INPUT_LENGTH).optional().describe('Its standard input. Default: empty.'),
  inputs: FILES.describe(
    'Files and folders that it reads, relative to the working folder. With them, a worker that does not share the folder can run it.',
  ),
  outputs: FILES.describe('Files and folders that it writes, which such a worker returns.'),
  allow_failure: z
    .boolean()
    .optional()
    .describe('Whether a nonzero exit status counts as a result. By default it fails the call.'),
});

type ShellInput = z.infer<typeof INPUT>;

type Place = Pick<CommandOptions, 'cwd' | 'env'>;

const OUTPUT = z.object({
  exit_code: z.number().nullable().describe('null if a signal ended it.'),
  signal: z.string().nullable(),
  stdout: z.string(),
  stderr: z.string(),
  truncated: z.boolean().describe('Whether the middle of stdout or stderr is left out.'),
  duration_ms: z.number(),
});

type ShellResult = z.infer<typeof OUTPUT>;

/**
 * Runs a command. A nonzero status fails the call, so that dependents do not run: nobody deploys a failed build. If the
 * status is the answer (`grep -q`, `test`), callers set `allow_failure`.
 */
export function shellTool(
  environment: ToolEnvironment,
  roots = new Roots(environment.roots, undefined, environment.protection),
): Tool<ShellInput, ShellResult> {
  const { shell } = environment;
  const env = commandEnvironment(shell.env);
  return defineTool<ShellInput, ShellResult>({
    name: 'shell',
    description: 'Runs a shell command and returns its exit status and output.',
    input: INPUT,
    output: OUTPUT,
    // Two for each core: most commands also wait for a disk, a network or processes of their own.
    resources: { cpu: 0.5, memoryMb: 200, io: 'medium', network: shell.sandbox.network },
    files: ({ inputs, outputs, cwd = '.' }) =>
      (inputs ?? outputs) === undefined || isAbsolute(cwd)
        ? undefined
        : { inputs: { files: inputs ?? [] }, outputs: outputs ?? [] },
    run: async (input, context) => {
      const sent = context.folder;
      const usable = sent === undefined ? roots : new Roots([sent]);
      const settings = sent === undefined ? shell : { ...shell, sandbox: privateTo(sent, shell.sandbox) };
      // A root itself was configured by the user; only a caller's path must be checked.
      if (sent !== undefined && input.cwd !== undefined)
        await mkdir(usable.place(input.cwd), { recursive: true });
      const cwd = input.cwd === undefined ? (sent ?? environment.roots[0]) : await folder(usable, input.cwd);
      if (cwd === undefined)
        throw refusal('PATH_NOT_ALLOWED', 'A command needs a folder, but no root is configured.');
      const result = await run(settings, { cwd, env: { ...env, PWD: cwd } }, input, context);
      const isFailure = result.exitCode !== 0;
      if (isFailure && input.allow_failure !== true) throw failureOf(result, input.command);
      context.measured?.(result.usage);
      return resultOf(result);
    },
  });
}

/** The same sandbox for a folder with the files of one call. */
function privateTo(folder: string, sandbox: ShellSettings['sandbox']): ShellSettings['sandbox'] {
  return { ...sandbox, read: [folder], write: [folder], guard: undefined };
}

/** The working directory of a command, which must be inside a root. */
async function folder(roots: Roots, path: string): Promise<string> {
  try {
    return await roots.realPlace(path);
  } catch (error) {
    throw fileFailure('run in', path, error);
  }
}

async function run(settings: ShellSettings, place: Place, input: ShellInput, context: ToolContext) {
  const { stdin, timeout_ms } = input;
  const { signal, report } = context;
  const command = {
    ...place,
    limits: settings.limits,
    ...(stdin !== undefined && { input: stdin }),
    onOutput: (stream: OutputStream, chunk: Buffer) => {
      if (stream !== 'channel') context.output?.(stream, chunk);
      const step = lastLine(chunk);
      if (step !== '') report(step);
    },
  };
  if (timeout_ms === undefined) return runShellCommand(settings, input.command, { ...command, signal });

  const controller = new AbortController();
  const stop = () => controller.abort(signal.reason);
  const message = `The command ran longer than its timeout_ms of ${timeout_ms} and was killed.`;
  const timer = setTimeout(
    () => controller.abort(new ToolFailure(message, { reason: 'timeout' })),
    timeout_ms,
  );
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await runShellCommand(settings, input.command, { ...command, signal: controller.signal });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

/** Runs a command in the sandbox, in the shell, or directly if that makes no difference. */
export async function runShellCommand(
  { launcher, confinement, sandbox, shell }: ShellSettings,
  text: string,
  options: Omit<CommandOptions, 'argv'>,
): Promise<CommandResult> {
  const words = shell.join(' ') === POSIX_SHELL ? simpleCommand(text) : undefined;
  const command: CommandOptions = { ...options, argv: [...(shell as [string]), text], words };
  if (sandbox.mode !== 'off') return runConfined(confinement(), command, sandbox);
  if (words === undefined) return runCommand(launcher(), command);
  try {
    return await runCommand(launcher(), { ...command, argv: words });
  } catch (error) {
    const isMissing = error instanceof VolleyError && error.code === 'PROCESS_NOT_STARTED';
    if (!isMissing) throw error;
    // The shell reports it in its own words, or knows more.
    return runCommand(launcher(), command);
  }
}

/** The environment of a command: enough to work, without secrets. */
export function commandEnvironment(names: readonly string[]): Record<string, string> {
  // The output is not shown in a terminal.
  const env: Record<string, string> = { PATH: '/usr/local/bin:/usr/bin:/bin', TERM: 'dumb' };
  for (const [name, value] of Object.entries(process.env)) {
    const isCommon = /^(PATH|HOME|LANG|LC_\w+|TMPDIR)$/.test(name);
    if (value !== undefined && name !== 'VOLLEY_TRUST' && (isCommon || names.includes(name)))
      env[name] = value;
  }
  return env;
}

function resultOf({ exitCode, signal, stdout, stderr, truncated, durationMs }: CommandResult): ShellResult {
  return {
    exit_code: exitCode ?? null,
    signal: signal ?? null,
    stdout,
    stderr,
    truncated,
    duration_ms: Math.round(durationMs),
  };
}

function failureOf(result: CommandResult, command: string): Error {
  const { exitCode, signal, stdout, stderr } = result;
  const how = signal === undefined ? `ended with exit status ${exitCode}` : `was killed by ${signal}`;
  // From both: many programs report failures on one, and lesser things on the other.
  const shown = [stdout, stderr].map(lastLines).filter((lines) => lines !== '');
  const message = `The command ${how}${shown.length === 0 ? '.' : `:\n${shown.join('\n')}`}`;
  const error: VolleyError = refusal('COMMAND_FAILED', message, { command, ...resultOf(result) });
  return signal === undefined
    ? error
    : new ToolFailure(message, { reason: 'crashed', retryable: false, cause: error });
}

function lastLines(text: string): string {
  const lines = text.trimEnd().split('\n').slice(-SHOWN_LINES).join('\n');
  return lines.length > SHOWN_LENGTH ? `…${lines.slice(-SHOWN_LENGTH)}` : lines;
}

/** The last line of an output chunk, for progress. */
function lastLine(chunk: Buffer): string {
  const text = chunk
    .subarray(-2 * STEP_LENGTH)
    .toString()
    .trimEnd();
  return text
    .slice(text.lastIndexOf('\n') + 1)
    .slice(-STEP_LENGTH)
    .trim();
}
