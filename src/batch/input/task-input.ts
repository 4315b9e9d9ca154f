import { z } from 'zod';
import type { ToolCall } from '../../coordinator/call.ts';
import { type NewTask, NO_OPTIONS, type TaskOptions } from '../../store/records.ts';
import {
  PARAMS,
  PRIORITY,
  RESOURCES,
  SECONDS,
  TASK_ID,
  TASK_IDS,
  TASK_NAME,
  toRequirements,
} from './fields.ts';

/** The fields of a task, of `add` and of each entry of `add_batch`. */
export const TASK_FIELDS = {
  name: TASK_NAME.optional().describe('For people. Default: the id, or the name of the function.'),
  function: z.string().min(1).max(128).describe('The tool that does it.'),
  params: PARAMS.default({}).describe(
    'The arguments of the tool. { "$from": id, "path": "/a/0" } and "${id.a[0]}" stand for a part of the result of another task of the batch; "$${" is a literal "${".',
  ),
  priority: PRIORITY.optional(),
  max_retries: z.number().int().min(0).max(1000).optional().describe('Attempts after the first.'),
  id: TASK_ID.optional().describe('Unique in the batch. Default: one is chosen and told.'),
  depends_on: z.array(TASK_ID).max(10_000).optional().describe('Ids of tasks that must end first.'),
  timeout: SECONDS.optional().describe('Seconds that one attempt may take.'),
  resources: RESOURCES.optional().describe('What it needs, where that differs from its tool.'),
  on_dependency_failure: z
    .enum(['skip', 'run', 'on-failure'])
    .optional()
    .describe('What to do if a dependency did not complete. Default skip.'),
};

export const TASK = z.strictObject(TASK_FIELDS);

export type TaskInput = z.output<typeof TASK>;

export const IDS = TASK_IDS.optional().describe('Ids of tasks.');

export function optionsOf(
  input: TaskInput,
  dependsOn: readonly string[],
  warnings: readonly string[],
): TaskOptions {
  const { priority, max_retries, timeout, resources, on_dependency_failure } = input;
  const hasOwn = (priority ?? max_retries ?? timeout ?? resources ?? on_dependency_failure) !== undefined;
  if (!hasOwn && dependsOn.length === 0 && warnings.length === 0) return NO_OPTIONS;
  return {
    ...(priority !== undefined && { priority }),
    ...(max_retries !== undefined && { maxRetries: max_retries }),
    ...(timeout !== undefined && { timeoutMs: timeout * 1000 }),
    ...(resources !== undefined && { resources: toRequirements(resources) }),
    ...(on_dependency_failure !== undefined && { onDependencyFailure: on_dependency_failure }),
    ...(dependsOn.length > 0 && { dependsOn }),
    ...(warnings.length > 0 && { warnings }),
  };
}

/** The call that a task stands for. */
export function callOf(task: Pick<NewTask, 'id' | 'function' | 'options'>, params: unknown): ToolCall {
  if (task.options === NO_OPTIONS) return { id: task.id, name: task.function, arguments: params };
  const { priority, maxRetries, timeoutMs, dependsOn, onDependencyFailure, resources } = task.options;
  return {
    id: task.id,
    name: task.function,
    arguments: params,
    ...(priority !== undefined && { priority }),
    ...(maxRetries !== undefined && { retry: { maxRetries } }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(dependsOn !== undefined && { dependsOn }),
    ...(onDependencyFailure !== undefined && { onDependencyFailure }),
    ...(resources !== undefined && { resources }),
  };
}
