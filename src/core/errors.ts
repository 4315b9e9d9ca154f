/**
 * Every error that Volley itself raises has one of these codes. A code never changes its meaning and is never
 * reused; `docs/errors.md` is generated from this table.
 */
export const ERROR_CODES = {
  DUPLICATE_ID: {
    meaning: 'The id is already used by another execution of this engine or of the same group.',
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
  SANDBOX_UNAVAILABLE: {
    meaning: 'The sandbox is required, but this system does not have all of it.',
    remedy: 'Install what `diagnose()` says is missing, or set `processes.sandbox` to "auto".',
  },
  RUNNER_CLOSED: {
    meaning: 'The runner or coordinator was closed and takes no more calls.',
    remedy: 'Create a new one, or call before close().',
  },
  PATH_NOT_ALLOWED: {
    meaning: 'A path leads outside the folders in which file tools may work.',
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
