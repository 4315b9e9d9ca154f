import { VolleyError } from '../../core/errors.ts';
import type { SandboxPolicy } from '../runner.ts';
import type { CommandOptions } from './command.ts';
import type { Launcher } from './launcher.ts';
import { PRIVATE_TMP, sandboxArguments } from './sandbox.ts';
import { type SandboxTrial, trySandbox } from './trial-sandbox.ts';

const DEFAULT_TEMPORARY_MB = 1024;

/** What is known of the sandbox here; tried once for each launcher. */
const trials = new WeakMap<Launcher, Promise<SandboxTrial>>();

/** The same command in a sandbox, as far as the policy wants it and this system has it. */
export async function sandboxedCommand(
  launcher: Launcher,
  command: CommandOptions,
  policy: SandboxPolicy,
): Promise<CommandOptions> {
  let trial = trials.get(launcher);
  if (trial === undefined) {
    trial = trySandbox(launcher);
    trials.set(launcher, trial);
  }
  const { bubblewrap, problem, remedy } = await trial;
  if (bubblewrap === undefined) {
    if (policy.mode !== 'required') return command;
    const text = `The sandbox is required, but it does not work here: ${problem}. ${remedy ?? ''}`;
    throw new VolleyError('SANDBOX_UNAVAILABLE', text.trim());
  }
  const { cwd, limits, env, argv } = command;
  const temporaryBytes = (limits.memoryMb ?? DEFAULT_TEMPORARY_MB) * 2 ** 20;
  const prefix = sandboxArguments(bubblewrap, { policy, code: [], cwd, temporaryBytes });
  return {
    ...command,
    argv: [...(prefix as [string]), ...argv],
    cwd: '/',
    env: { ...env, HOME: PRIVATE_TMP, TMPDIR: PRIVATE_TMP },
  };
}
