import { afterAll, beforeAll } from 'vitest';
import type { ProcessRunner } from '../../../src/runners/process/process-runner.ts';
import type { RunLimits, RunnerTask, SandboxPolicy, ToolCode, ToolRun } from '../../../src/runners/runner.ts';
import { importBuilt } from './built.ts';

export interface RunOptions {
  readonly input?: unknown;
  readonly limits?: RunLimits;
  readonly sandbox?: Partial<SandboxPolicy>;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly began?: () => void;
  readonly report?: (...report: unknown[]) => void;
}

/** A process runner for the tests of a file. */
export class RunnerRig {
  runner!: ProcessRunner;

  /** Runs a function as the text that it is, in a process. */
  run(tool: ToolRun<never> | ToolCode, options: RunOptions = {}): Promise<unknown> {
    const code: ToolCode = typeof tool === 'function' ? { kind: 'source', text: tool.toString() } : tool;
    const { input, limits = {}, sandbox, env = {}, signal, began = () => {}, report = () => {} } = options;
    const task: RunnerTask = {
      id: 'call-1',
      attempt: 1,
      signal: signal ?? new AbortController().signal,
      report,
      began,
    };
    const policy: SandboxPolicy = { mode: 'required', read: [], write: [], network: false, ...sandbox };
    return this.runner.run({ toolName: 'tool', code, input, limits, sandbox: policy, env }, task);
  }
}

export function useProcessRunner(): RunnerRig {
  const rig = new RunnerRig();
  let close: () => Promise<void>;
  beforeAll(async () => {
    const { ProcessRunner, createLauncher } = await importBuilt();
    const launcher = createLauncher();
    rig.runner = new ProcessRunner({ launcher });
    close = async () => {
      await rig.runner.close();
      await launcher.close();
    };
  }, 180_000);
  afterAll(() => close());
  return rig;
}
