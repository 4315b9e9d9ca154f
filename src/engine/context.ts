import { VolleyError } from '../core/errors.ts';
import type { Execution } from '../core/execution.ts';
import { show } from '../core/numbers.ts';
import type { ExecutionSpec } from '../core/spec.ts';
import { ChildHandle } from './children.ts';
import type { ExecutionHandle } from './handle.ts';
import { Job, type JobOwner } from './job.ts';

/** Describes an execution. Everything has a default. */
export interface ExecutionContext extends Omit<ExecutionSpec, 'dependsOn' | 'toolName'> {
  /** The name for limits, statistics and learned durations. Default: the name of the function, or `function`. */
  readonly toolName?: string;
  /** Ids or handles of the executions that must settle first. */
  readonly dependsOn?: readonly (string | ExecutionHandle)[];
  /** Cancels the execution when it is aborted. */
  readonly signal?: AbortSignal;
}

export function checkContext(context: unknown): void {
  if (typeof context !== 'object' || context === null) {
    throw new VolleyError(
      'INVALID_VALUE',
      `An execution is described by an object such as { toolName: 'fetch' }, but it is ${show(context)}.`,
    );
  }
  const { signal } = context as Partial<ExecutionContext>;
  const isSignal = typeof signal?.aborted === 'boolean' && typeof signal.addEventListener === 'function';
  if (signal === undefined || isSignal) return;
  throw new VolleyError('INVALID_VALUE', `signal must be an AbortSignal, but it is ${show(signal)}.`);
}

export function checkFunction(run: unknown): void {
  if (typeof run === 'function') return;
  throw new VolleyError(
    'INVALID_VALUE',
    `The work of an execution must be a function, but it is ${show(run)}.`,
  );
}

export function defaultToolName(run: unknown): string {
  return (typeof run === 'function' && run.name) || 'function';
}

/** The specification for the scheduler, with a tool name, and with executions in place of handles. */
export function toSpec(context: ExecutionContext, owner: JobOwner, run?: unknown): ExecutionSpec {
  const { dependsOn, toolName } = context;
  if (toolName === undefined) return toSpec({ ...context, toolName: defaultToolName(run) }, owner);
  if (!Array.isArray(dependsOn) || hasOnlyStrings(dependsOn)) return context as ExecutionSpec;
  return {
    ...(context as ExecutionSpec),
    dependsOn: Array.from(dependsOn, (reference) => toReference(reference, owner)),
  };
}

function toReference(reference: unknown, owner: JobOwner): string | Execution {
  if (typeof reference === 'string') return reference;
  const job = reference instanceof ChildHandle ? reference.job : reference;
  if (job instanceof Job && job.belongsTo(owner)) return job;
  throw new VolleyError(
    'INVALID_VALUE',
    `dependsOn takes ids and handles of the same engine, but it has ${show(reference)}.`,
  );
}

/** A loop, because `every` skips holes. */
function hasOnlyStrings(references: readonly unknown[]): boolean {
  for (const reference of references) if (typeof reference !== 'string') return false;
  return true;
}
