import type { ErrorTable } from './table.ts';

/** Errors of the engine. */
export const ENGINE_ERRORS = {
  DUPLICATE_ID: {
    meaning:
      'The id is already used by another execution of this engine or of the same group, or by a task of the same batch.',
    remedy: 'Give each execution its own id, or leave the id out and let Volley choose one.',
  },
  INVALID_ID: {
    meaning: 'The id is empty, too long, or has the form that Volley reserves for its own ids.',
    remedy: 'Use a text of 1 to 256 characters that is not of the form "exec-<number>".',
  },
  UNKNOWN_DEPENDENCY: {
    meaning: 'A dependency names an execution that the engine does not know (any more).',
    remedy:
      'Submit the dependency first or in the same group. A settled execution is remembered for a while only (`retainSettled`): depend on its handle instead of its id.',
  },
  DEPENDENCY_CYCLE: {
    meaning:
      'Executions of the group wait for each other in a circle; the path is in the message and in `details.path`.',
    remedy: 'Remove one of the dependencies on the path.',
  },
  IMPOSSIBLE_DEMAND: {
    meaning: 'The execution asks for more of a resource than the limit allows, so it could never start.',
    remedy: 'Lower the demand that the message names, or raise that limit.',
  },
  UNKNOWN_PRIORITY: {
    meaning: 'The priority is not one that Volley knows.',
    remedy: 'Use critical, high, normal (also written medium), low or background.',
  },
  INVALID_VALUE: {
    meaning: 'An option has a value of the wrong type or outside its range.',
    remedy: 'Correct the option that the message names; nothing was submitted.',
  },
  UNKNOWN_EXECUTION: {
    meaning: 'No execution has this id, or it settled so long ago that it was forgotten.',
    remedy: 'Check the id, or keep the handle: it answers for as long as you hold it.',
  },
  UNKNOWN_GROUP: {
    meaning: 'No group has this name, or it ended and was forgotten.',
    remedy: 'Check the name, or keep the group handle.',
  },
  ENGINE_CLOSED: {
    meaning: 'The engine was closed and takes no more work.',
    remedy: 'Create a new engine, or submit before calling close().',
  },
  EXECUTION_TIMEOUT: {
    meaning: 'An attempt ran longer than its timeoutMs, and no retry was left.',
    remedy: 'Raise timeoutMs, split the work, or allow retries.',
  },
  EXECUTION_STALLED: {
    meaning: 'An attempt reported no progress for longer than its stallMs, and no retry was left.',
    remedy: 'Report progress more often, or raise stallMs.',
  },
  EXECUTION_DEADLINE: {
    meaning:
      'The execution did not finish within its deadlineMs, or its group within the time limit of the group.',
    remedy: 'Raise the deadline, the concurrency or the priority, or submit less at once.',
  },
  EXECUTION_FAILED: {
    meaning:
      'An attempt ended for a reason other than an error of its own (memory, cpu, crashed or budget), or its function threw undefined.',
    remedy: 'Read `details.reason` and raise that limit, or mend the tool.',
  },
  EXECUTION_CANCELLED: {
    meaning: 'The execution was cancelled; the message gives the reason.',
    remedy: 'Nothing, if you asked for it; `outcome()` tells without throwing.',
  },
  EXECUTION_SKIPPED: {
    meaning:
      'The execution never ran because of what became of its dependencies; the message names the root cause.',
    remedy: "Mend the root cause, or give the execution onDependencyFailure: 'run'.",
  },
} as const satisfies ErrorTable;
