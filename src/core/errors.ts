/**
 * Every error that Volley itself raises has one of these codes. A code never changes its meaning and is never
 * reused; `docs/errors.md` is generated from this table.
 */
export const ERROR_CODES = {
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
    meaning: 'An attempt ended for a reason other than an error of its own: memory, cpu, crashed or budget.',
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
  INVALID_TOOL: {
    meaning: 'The definition of a tool is not valid; the message names the field.',
    remedy: 'Correct that field.',
  },
  DUPLICATE_TOOL: {
    meaning: 'Two tools have the same name.',
    remedy: 'Rename one of them.',
  },
  UNKNOWN_TOOL: {
    meaning: 'No tool has this name.',
    remedy: 'Use one of the names that the registry lists; the message gives the nearest.',
  },
  TOOL_NOT_ALLOWED: {
    meaning: 'The tool exists, but the allow and deny lists do not let it be called.',
    remedy: 'Change `tools.allow` or `tools.deny`, or enable the tool in the configuration.',
  },
  INVALID_CALL: {
    meaning: 'A call is not of the form that the coordinator takes; the message says where.',
    remedy: 'Correct the call; nothing of the list was started.',
  },
  INVALID_ARGUMENTS: {
    meaning: "The arguments of a call break the tool's schema; the message names the field and the rule.",
    remedy: 'Correct the argument; the tool was not started.',
  },
  INVALID_RESULT: {
    meaning: 'What a tool returned breaks its own output schema.',
    remedy: 'Mend the tool, or its schema.',
  },
  UNRESOLVED_REFERENCE: {
    meaning: 'An argument refers to a part of a result that is not there; the message names both.',
    remedy: 'Correct the path; the message lists what the result has at the last place that exists.',
  },
  RESULT_TOO_LARGE: {
    meaning: 'The result of a tool is larger than its limit `resultBytes`.',
    remedy: 'Return less (a summary, a path to a file), or raise the limit.',
  },
  UNSERIALISABLE_RESULT: {
    meaning:
      'A tool in a thread or a process returned something that cannot be sent back: a function, for example.',
    remedy: 'Return plain data.',
  },
  UNSERIALISABLE_INPUT: {
    meaning: 'The input of a tool in a thread or a process holds something that cannot be sent there.',
    remedy: 'Pass plain data, or run the tool inline.',
  },
  OUTPUT_LIMIT: {
    meaning: 'A process wrote more to its output than its limit `outputBytes`, and was ended.',
    remedy: 'Write less, or raise the limit.',
  },
  PROCESS_NOT_STARTED: {
    meaning: 'A program could not be started: it does not exist, may not be run, or the system refused.',
    remedy: 'Read the reason in the message; `diagnose()` tells what this system allows.',
  },
  COMMAND_FAILED: {
    meaning: 'A command of the shell ended with an exit status other than 0, or was killed.',
    remedy:
      'Read its last lines in the message and all of it in `details`; call with `allow_failure: true` to get it as a result.',
  },
  SANDBOX_UNAVAILABLE: {
    meaning: 'The sandbox is required, but this system does not have all of it.',
    remedy: 'Install what `diagnose()` says is missing, or set `processes.sandbox` to "auto".',
  },
  RUNNER_CLOSED: {
    meaning: 'The runner or coordinator was closed and takes no more calls.',
    remedy: 'Create a new one, or call before close().',
  },
  PATH_NOT_ALLOWED: {
    meaning:
      'A path leads outside the folders in which file tools may work, or a write to what Volley itself reads and runs.',
    remedy: 'Use a path inside the roots, or add a folder to `tools.roots`.',
  },
  ADDRESS_NOT_ALLOWED: {
    meaning: 'A request would go to an address or host that is not allowed.',
    remedy: 'Use a public address, or change the settings of http_request.',
  },
  REQUEST_FAILED: {
    meaning: 'A request got no complete answer: refused, too slow, too large, or too many redirects.',
    remedy: 'Read the message; raise the limit that it names if it was one.',
  },
  INVALID_CONFIG: {
    meaning: 'The configuration is not valid; the message gives file, line, value and what is valid.',
    remedy: 'Correct that line.',
  },
  INVALID_MODULE: {
    meaning: 'A module of `tools.modules` cannot be loaded, or exports no tools.',
    remedy: 'Export what defineTool() returns, as the default or by name.',
  },
  UNKNOWN_BATCH: {
    meaning: 'The store has no batch of this name.',
    remedy: 'Check the name against the list of batches, or add a task to it first.',
  },
  UNKNOWN_TASK: {
    meaning: 'The batch has no task with this id or number; it may have been cleared.',
    remedy: 'Check the id against the list of tasks.',
  },
  TASK_SETTLED: {
    meaning: 'The task has ended already, so it cannot start or end now.',
    remedy: 'Open it again with retry, if it shall run once more.',
  },
  BATCH_HELD: {
    meaning: 'Another process runs this batch; the message says which, where and since when.',
    remedy: 'Wait for its end or stop it there; other batches can be run meanwhile.',
  },
  STORE_NEWER: {
    meaning: 'The store was written by a newer version of Volley, whose form this version does not know.',
    remedy: 'Update Volley, or use another file as the store.',
  },
  STORE_DAMAGED: {
    meaning: 'The file of the store is damaged, or is no store of Volley; it was left as it is.',
    remedy: 'Move the file away together with its -wal and -shm, or put a backup in its place.',
  },
  STORE_UNAVAILABLE: {
    meaning:
      'The store cannot be opened, read or written: no permission, a full disk, a deleted file, a lock that stays.',
    remedy:
      'Remove the cause that the message names, then try again; a write that failed left nothing behind.',
  },
  STORE_CLOSED: {
    meaning: 'The store was closed and takes no more calls.',
    remedy: 'Open it again, or call before close().',
  },
  INVALID_REQUEST: {
    meaning:
      'A request to batch_executor_tool is not of the form that its action takes; the message says where.',
    remedy: 'Correct the field that the message names; nothing was done.',
  },
  UNKNOWN_ACTION: {
    meaning: 'batch_executor_tool has no such action.',
    remedy: 'Use one of the actions that the message lists.',
  },
  EXPORT_FAILED: {
    meaning: 'A file with results could not be written; what was there before is unchanged.',
    remedy: 'Read the message: it names the path and what the system says.',
  },
  BATCH_RUNNING: {
    meaning:
      'The batch runs in this process at the moment, and what was asked for is possible only when it does not.',
    remedy: 'Wait for its end, or stop it first.',
  },
  INVALID_TASK_FILE: {
    meaning: 'A file of tasks cannot be read; the message gives file, line, column and what is valid.',
    remedy: 'Correct that place; nothing was added.',
  },
  INVALID_TEMPLATE: {
    meaning: 'A template gives no tasks: its patterns match no file, or its params are not valid.',
    remedy: 'Correct what the message names; nothing was added.',
  },
  INTERNAL: {
    meaning: 'Volley broke one of its own rules.',
    remedy: 'Please report it with the message: it is a defect of Volley, not of your code.',
  },
} as const satisfies Record<string, { meaning: string; remedy: string }>;

/** A stable name of an error; see `docs/errors.md`. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** The one error class of Volley: `code` is for programs, `message` says what is wrong and what to do. */
export class VolleyError extends Error {
  readonly code: ErrorCode;
  /** The same facts as the message, as data: for example the path of a cycle. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    details: Readonly<Record<string, unknown>> = {},
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.name = 'VolleyError';
    this.code = code;
    this.details = details;
  }
}

/** A defect of Volley itself: a state that the rules exclude was reached. */
export function internalError(message: string): VolleyError {
  return new VolleyError('INTERNAL', `${message} (this is a defect of Volley, please report it)`);
}
