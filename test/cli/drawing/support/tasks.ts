import type { FinishedTask } from '../../../../src/cli/drawing/task-graph.ts';

/** A task that ran from 0 to 100 ms, unless the test says otherwise. */
export function finished(id: string, more: Partial<FinishedTask> = {}): FinishedTask {
  return {
    id,
    name: `Task ${id}`,
    function: 'tool',
    status: 'completed',
    startMs: 0,
    endMs: 100,
    attempts: 1,
    dependsOn: [],
    ...more,
  };
}

/** What somebody may write into a name to break a drawing. */
export const EVIL = '</text><script>"x" & \'y\' \\N `z` #35; \x00\x1b[31m\ud800 {a}|;%%\n-->';
