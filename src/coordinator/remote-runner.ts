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
  /** The folder of the files that it declares, if that is not the first root. They are sent to any worker. */
  readonly folder?: string | undefined;
}

/** A repository of which a worker has a clone. */
export interface OfferedRepository {
  /** Derived from its first commits, so that all clones have the same. */
  readonly id: string;
  /** The name of its folder, for people. */
  readonly name: string;
  /** Commits that the clone has, with all that they depend on. */
  readonly tips: readonly string[];
}

/** What a worker offers that runs coding agents. */
export interface OfferedAgents {
  readonly names: readonly string[];
  readonly repositories: readonly OfferedRepository[];
}

/** The worker on which an attempt was placed, for a tool that runs here and has parts of its work done there. */
export interface PlacedOn {
  readonly worker: string;
  readonly agents: OfferedAgents;
  run(call: RemoteCall, task: Pick<RunnerTask, 'signal' | 'report' | 'log'>): Promise<unknown>;
}

/** The resource of which an agent on a worker takes one. */
export const AGENTS_RESOURCE = 'agents';

/** Runs attempts on other machines. The engine decides where. */
export interface RemoteRunner {
  /** The labels of the workers that can run a call of the tool. The input is undefined if it is not known yet. */
  labelsFor(tool: Tool, input: unknown): Labels;
  /** The name of a worker that people know. */
  nameOf(worker: string): string;
  agentsOf(worker: string): OfferedAgents;
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
  readonly agents: OfferedAgents;
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
