import type { ExecutionSpec } from '../core/spec.ts';
import type { ExecutionHandle } from './handle.ts';

/** What you say of an execution when you submit it; only the tool's name is required. */
export interface ExecutionContext extends Omit<ExecutionSpec, 'dependsOn'> {
  /** Ids or handles of what must settle first. */
  readonly dependsOn?: readonly (string | ExecutionHandle)[];
  /** Cancels the execution when it is aborted. */
  readonly signal?: AbortSignal;
}
