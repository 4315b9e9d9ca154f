import type { ResourceRequirements } from '../core/demand.ts';
import { type Labels, LOCAL_LABEL } from '../core/labels.ts';
import type { RunnerTask } from '../runners/runner.ts';
import type { Tool } from '../tools/tool.ts';

/** The id of this process among the workers. What cannot run elsewhere is placed here. */
export const LOCAL_WORKER = 'local';

/** The labels of an execution that must stay in this process. */
export const LOCAL_LABELS: Labels = { [LOCAL_LABEL]: true };

/** A call that another machine is to run. */
export interface RemoteCall {
  readonly tool: Tool;
  readonly input: unknown;
  readonly needs: ResourceRequirements;
}

/** Runs attempts on other machines. The engine decides where. */
export interface RemoteRunner {
  /** The labels of the workers that can run a call of the tool. The input is undefined if it is not known yet. */
  labelsFor(tool: Tool, input: unknown): Labels;
  /** The name of a worker that people know. */
  nameOf(worker: string): string;
  /** Runs an attempt on a worker to its end, like a {@link Runner}. */
  run(worker: string, call: RemoteCall, task: RunnerTask): Promise<unknown>;
}

/** A worker as the coordinator knows it. */
export interface WorkerStatus {
  readonly name: string;
  /** `joining` until nothing of earlier work is left on it; `lost` until its calls are given up. */
  readonly state: 'joining' | 'ready' | 'draining' | 'lost';
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  /** Its own labels, without those that Volley sets. */
  readonly labels: Labels;
  readonly tools: number;
  readonly lastHeardMs: number;
  /** What it offers of each limited resource, and what the coordinator has placed on it. */
  readonly use: readonly { readonly name: string; readonly used: number; readonly limit: number }[];
  /** How many calls it may have waiting beyond that. */
  readonly spare: number;
  readonly calls: readonly { readonly id: string; readonly toolName: string }[];
  /** Calls that ended on it, by how they ended there. */
  readonly ended: Readonly<Record<'completed' | 'failed' | 'cancelled', number>>;
}

/** Knows the workers of a cluster. */
export interface WorkerDirectory {
  /** By name. */
  list(): WorkerStatus[];
  /** Asks a worker to finish its calls and leave. Returns false if no worker has that name. */
  drain(name: string): Promise<boolean>;
}
