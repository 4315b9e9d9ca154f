import type { ResourceRequirements } from '../core/demand.ts';
import type { Labels } from '../core/labels.ts';
import type { RunnerTask } from '../runners/runner.ts';
import type { Tool } from '../tools/tool.ts';

/** The id of this process among the workers. What cannot run elsewhere is placed here. */
export const LOCAL_WORKER = 'local';

/** The labels of an execution that must stay in this process. */
export const LOCAL_LABELS: Labels = { local: true };

/** A call that another machine is to run. */
export interface RemoteCall {
  readonly toolName: string;
  readonly input: unknown;
  readonly needs: ResourceRequirements;
}

/** Runs attempts on other machines. The engine decides where. */
export interface RemoteRunner {
  /** The labels of the workers that have the tool. */
  labelsFor(tool: Tool): Labels;
  /** Runs an attempt on a worker to its end, like a {@link Runner}. */
  run(worker: string, call: RemoteCall, task: RunnerTask): Promise<unknown>;
}
