import type { NewTask, TaskRecord } from './records.ts';

/**
 * A task that has not been started, or shall be started again. Written out: there are many, and spreading one into it
 * takes longer than writing it to the file.
 */
export function openRecord(
  batch: string,
  seq: number,
  { id, name, function: tool, params, options }: NewTask,
  addedAt: number,
  attempts = 0,
  failures = 0,
): TaskRecord {
  return {
    batch,
    seq,
    id,
    name,
    function: tool,
    params,
    options,
    status: 'open',
    attempts,
    failures,
    addedAt,
    startedAt: undefined,
    endedAt: undefined,
    durationMs: undefined,
    reason: undefined,
    message: undefined,
    code: undefined,
    cause: undefined,
    resultBytes: undefined,
    preview: undefined,
  };
}
