/** What an error means, and what to do about it, by its code. */
type ErrorTable = Readonly<Record<string, { readonly meaning: string; readonly remedy: string }>>;

/** Errors of the engine. */
const ENGINE_ERRORS = {
  DUPLICATE_ID: {
    meaning:
      'The id is already used by another execution of this engine or of the same group, or by a task of the same batch.',
    remedy: 'Give each execution its own id, or leave the id out and let Volley choose one.',
  },
  INVALID_ID: {
    meaning: 'The id is empty, too long, or has the form that Volley reserves for its own ids.',
    remedy: 'Use a string of 1 to 256 characters that is not of the form "exec-<number>".',
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

/** Errors of tools, of where they run, and of the configuration. */
const TOOL_ERRORS = {
  MCP_SERVER_FAILED: {
    meaning:
      'An MCP server could not be started or reached, or ended in the midst of a call; the message says which and why.',
    remedy: 'Read the reason in the message; `volley tools` shows the state of every server.',
  },
  NOT_TRUSTED: {
    meaning:
      "The folder's `volley.toml` has settings that could run code or reach outside the folder, and you have not approved them. The message names the settings.",
    remedy: 'Review and approve them with `volley trust`. Only a person can.',
  },
  TRUST_UNREADABLE: {
    meaning:
      'An approval in your configuration folder cannot be trusted: it is damaged, or other users can write to it.',
    remedy: 'Fix or delete the file as the message says, then run `volley trust` again.',
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
  SCHEMA_TOO_SLOW: {
    meaning:
      'Checking a value against the JSON Schema of a tool exceeded its time or memory limit. The message names the tool and, if one is the cause, the pattern.',
    remedy:
      'Send a smaller value, or simplify the schema: use patterns without look-around and back-references.',
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
      'A tool returned something that cannot be sent back from its thread or process, or written as JSON where that is needed: a function or a circle, for example, or what is nested too deep.',
    remedy: 'Return plain data.',
  },
  UNSERIALISABLE_INPUT: {
    meaning: 'The input of a tool in a thread or a process holds something that cannot be sent there.',
    remedy: 'Pass plain data, or run the tool inline.',
  },
  PATH_PROTECTED: {
    meaning:
      'A tool or command tried to write, or has written, a protected path. The message names the path and the rule.',
    remedy:
      "Write elsewhere, or add the path to `tools.writable` in volley.toml. Volley's own files cannot be made writable.",
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
} as const satisfies ErrorTable;

/** Errors of batches, of the store and of files of tasks. */
const BATCH_ERRORS = {
  UNKNOWN_BATCH: {
    meaning: 'The store has no batch of this name.',
    remedy: 'Check the name against the list of batches, or add a task to it first.',
  },
  INEXACT_NUMBER: {
    meaning:
      'JSON input has an integer that a JSON number cannot hold exactly, or a number that is out of range.',
    remedy: 'Write it as a string. The message says where it is. Nothing was done.',
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
    remedy: 'Wait for its end or stop it; other batches can be run meanwhile.',
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
      'A request to batch_executor_tool or to the HTTP API is not of the form that it takes; the message says where.',
    remedy: 'Correct the field that the message names; nothing was done.',
  },
  UNKNOWN_ACTION: {
    meaning: 'batch_executor_tool has no such action.',
    remedy: 'Use one of the actions that the message lists.',
  },
  EXPORT_FAILED: {
    meaning:
      'A file with results, or a picture of a run, could not be written; what was there before is unchanged.',
    remedy: 'Do what the message says: it names the path, the reason and a way out.',
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
} as const satisfies ErrorTable;

/** Errors of the HTTP server. */
const SERVER_ERRORS = {
  TOO_MANY_STREAMS: {
    meaning: 'As many streams of events are open as the server allows.',
    remedy: 'Close some, try again later, or raise the limit that the message names.',
  },
  SERVER_CLOSING: {
    meaning: 'The server is stopping and takes nothing more.',
    remedy: 'Ask again when it is back.',
  },
  UNAUTHENTICATED: {
    meaning: 'The server got no token, or one that it does not know or that has expired.',
    remedy:
      'Send "Authorization: Bearer …" with a token of the configuration or of the file beside the store, or open the address that `volley dashboard` prints.',
  },
  NOT_PERMITTED: {
    meaning: 'The token is valid, but its scope does not include what was asked for.',
    remedy: 'Use a token with the scope that the message names.',
  },
  HOST_NOT_ALLOWED: {
    meaning: 'The server was called by a host name that is not its own.',
    remedy: 'Call it by its address or localhost, or add the name to `server.allowed_hosts`.',
  },
  DUPLICATE_HOST: {
    meaning: 'A request has more than one Host header, so its host is ambiguous.',
    remedy: 'Send one Host header.',
  },
  ORIGIN_NOT_ALLOWED: {
    meaning: 'A page of another origin called the server.',
    remedy: 'Add its origin to `server.allowed_origins` if it may, and let it send a token.',
  },
  RATE_LIMITED: {
    meaning: 'A token, session or address sent more requests than it may.',
    remedy: 'Wait as long as Retry-After says, or raise `server.limits.requests_per_second`.',
  },
  BODY_TOO_LARGE: {
    meaning: 'The body of a request is larger than the server takes.',
    remedy: 'Send less at once, or raise `server.limits.max_body_bytes`.',
  },
  BODY_TOO_DEEP: {
    meaning: 'The JSON of a request is nested deeper than the server takes.',
    remedy: 'Make it flatter, or raise `server.limits.max_depth`.',
  },
  INVALID_JSON: {
    meaning: 'The body of a request is not valid JSON in UTF-8; the message says where.',
    remedy: 'Correct that place; nothing was done.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    meaning: 'The body of a request is not declared as JSON.',
    remedy: 'Send "Content-Type: application/json".',
  },
  UNKNOWN_ROUTE: {
    meaning: 'The server has nothing at this path.',
    remedy: 'Use a path of /openapi.json; the message gives the nearest.',
  },
  METHOD_NOT_ALLOWED: {
    meaning: 'The path exists, but not with this method.',
    remedy: 'Use one of the methods that the header Allow lists.',
  },
  IDEMPOTENCY_CONFLICT: {
    meaning: 'The Idempotency-Key was used before, for a request with another body.',
    remedy: 'Use a new key for each new request, and the same only to repeat one.',
  },
  RANGE_NOT_SATISFIABLE: {
    meaning: 'The range that was asked for begins behind the end of the result.',
    remedy: 'Ask for a range inside the length that Content-Range gives.',
  },
  SERVER_NOT_STARTED: {
    meaning:
      'The server could not listen: the address is taken or not allowed, or a certificate cannot be read.',
    remedy: 'Do what the message says.',
  },
  SERVER_UNREACHABLE: {
    meaning: 'A server that should be running does not answer.',
    remedy: 'Look at its log, or stop it and try again.',
  },
} as const satisfies ErrorTable;

/** Errors of features and their subtasks. */
const FEATURE_ERRORS = {
  UNKNOWN_FEATURE: {
    meaning: 'There is no feature of this name in `.tmp/tasks`; it may have been put away.',
    remedy: 'Check the name; the message gives the nearest.',
  },
  UNKNOWN_SUBTASK: {
    meaning: 'The feature has no subtask with this sequence number.',
    remedy: 'Check the number; the message gives the nearest.',
  },
  INVALID_FEATURE: {
    meaning:
      'The files of a feature, or a description of one, are not valid; the message says which and where.',
    remedy: 'Correct what the message names; `volley tasks validate` checks all of a feature.',
  },
  SUBTASK_REFUSED: {
    meaning:
      'What was asked for is not possible with the subtask or feature as it stands: claimed, blocked, done, waiting.',
    remedy: 'Read the message: it says what stands in the way.',
  },
  VERIFICATION_FAILED: {
    meaning: 'A subtask cannot be completed, for its deliverables or checks do not show that it is done.',
    remedy: 'Finish what the message lists, or use `--force`, which is written into the file.',
  },
  TASKS_LOCKED: {
    meaning: 'Another process has kept the folder of tasks locked for too long, or it cannot be locked.',
    remedy: 'See what the process that the message names does, then try again; nothing was written.',
  },
  TASKS_UNAVAILABLE: {
    meaning: 'A file of the folder of tasks cannot be read or written; what was there before is unchanged.',
    remedy: 'Read the message: it names the path and what the system says.',
  },
  WORKSPACE_UNAVAILABLE: {
    meaning:
      'Agents cannot work there as the project stands: worktrees need git and a branch without uncommitted changes.',
    remedy: 'Do what the message says, or run without worktrees.',
  },
  WORKTREE_FAILED: {
    meaning: 'A worktree could not be made or removed: git or the set-up command failed.',
    remedy: 'Read what it wrote, which is in the message; nothing of the work is lost.',
  },
  AGENT_NOT_ALLOWED: {
    meaning: 'A subtask cannot be delegated: its agent is not known, or nobody has allowed it.',
    remedy:
      'Describe the agent under `[tasks.agents.NAME]` of `volley.toml`, or choose one for all with `--agent`.',
  },
  AGENT_NOT_INSTALLED: {
    meaning: 'The program of an agent cannot be found, or may not be run. Nothing was started.',
    remedy: 'Install it, or name another with `command` under `[tasks.agents.NAME]` of `volley.toml`.',
  },
  FEATURE_RUNNING: {
    meaning: 'Another process runs the feature.',
    remedy: 'Wait for its end, or follow it: the message says how. Nothing was started.',
  },
} as const satisfies ErrorTable;

/**
 * Every error that Volley itself raises has one of these codes. A code never changes its meaning and is never
 * reused; `docs/errors.md` is generated from this table. A new one goes into the table of its subject.
 */
export const ERROR_CODES = {
  ...ENGINE_ERRORS,
  ...TOOL_ERRORS,
  ...BATCH_ERRORS,
  ...SERVER_ERRORS,
  ...FEATURE_ERRORS,
  INTERNAL: {
    meaning: 'Volley broke one of its own rules.',
    remedy: 'Please report it with the message: it is a defect of Volley, not of your code.',
  },
} as const satisfies ErrorTable;
