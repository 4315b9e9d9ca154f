import { VolleyError } from '../../core/errors.ts';
import { reasonText } from '../../core/words.ts';
import { runCommand } from '../../runners/process/command.ts';
import type { Launcher } from '../../runners/process/launcher.ts';
import { childEnvironment } from '../child-environment.ts';
import { outputEnd } from '../verify/output-end.ts';

const TIMEOUT_MS = 30 * 60_000;
const OUTPUT_BYTES = 64 * 1024 * 1024;
const SHOWN_LENGTH = 1000;

export interface Setup {
  readonly command: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Runs the user's command that makes a new worktree ready for work. */
export async function runSetup(launcher: Launcher, setup: Setup, signal: AbortSignal): Promise<void> {
  const { command, folder, env } = setup;
  const late = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const { exitCode, stdout, stderr } = await runCommand(launcher, {
      argv: ['/bin/sh', '-c', command],
      cwd: folder,
      env: { ...childEnvironment(), ...env },
      limits: { outputBytes: OUTPUT_BYTES },
      signal: AbortSignal.any([signal, late]),
    });
    if (exitCode === 0) return;
    const ends = [stdout, stderr].map((text) => outputEnd(text, SHOWN_LENGTH)).filter((end) => end !== '');
    throw new Error(`it ended with exit status ${exitCode}: ${ends.join('\n')}`);
  } catch (error) {
    signal.throwIfAborted();
    const message = `The set-up of a worktree failed (${command}): ${reasonText(error)}`;
    throw new VolleyError('WORKTREE_FAILED', message, { command }, { cause: error });
  }
}
