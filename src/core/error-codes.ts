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
    meaning: 'A dependency names an execution that the engine does not know, or no longer knows.',
    remedy:
      'Submit the dependency first or in the same group. Settled executions are remembered only for a while (`retainSettled`); depend on the handle instead of the id.',
  },
  DEPENDENCY_CYCLE: {
    meaning:
      'Executions of the group depend on each other in a cycle; the path is in the message and in `details.path`.',
    remedy: 'Remove one of the dependencies on the path.',
  },
  IMPOSSIBLE_DEMAND: {
    meaning: 'The execution asks for more of a resource than the limit allows, so it could never start.',
    remedy: 'Lower the demand named in the message, or raise that limit.',
  },
  UNKNOWN_RESOURCE: {
    meaning:
      'A demand names a resource that was not declared. `details` has the `field`, the `nearest` known name and all `known` ones.',
    remedy:
      'Correct the name, or declare the resource with its capacity, in the `resources` of the engine or under `[limits.resources]` in volley.toml.',
  },
  UNKNOWN_PRIORITY: {
    meaning: 'The priority is unknown.',
    remedy: 'Use critical, high, normal (also written medium), low or background.',
  },
  INVALID_VALUE: {
    meaning: 'An option has a value of the wrong type or outside its range.',
    remedy: 'Correct the option named in the message. Nothing was submitted.',
  },
  UNKNOWN_EXECUTION: {
    meaning: 'No execution has this id, or it settled so long ago that it was forgotten.',
    remedy: 'Check the id, or keep the handle, which stays valid.',
  },
  UNKNOWN_GROUP: {
    meaning: 'No group has this name, or it ended and was forgotten.',
    remedy: 'Check the name, or keep the group handle.',
  },
  ENGINE_CLOSED: {
    meaning: 'The engine is closed and accepts no more work.',
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
      'An attempt was ended by a limit or a crash (memory, cpu, crashed or budget), or its function threw undefined.',
    remedy: 'Read `details.reason` and raise that limit, or fix the tool.',
  },
  EXECUTION_CANCELLED: {
    meaning: 'The execution was cancelled; the message gives the reason.',
    remedy: 'Nothing, if you requested it. `outcome()` returns it without throwing.',
  },
  EXECUTION_SKIPPED: {
    meaning: 'The execution was skipped because of a dependency. The message names the root cause.',
    remedy: "Fix the root cause, or give the execution onDependencyFailure: 'run'.",
  },
} as const satisfies ErrorTable;

/** Errors of tools, of where they run, and of the configuration. */
const TOOL_ERRORS = {
  MCP_LOGIN_NEEDED: {
    meaning: 'The MCP server requires a login, but there is no valid one for its address.',
    remedy:
      'Run `volley mcp login NAME`, which opens the login page of the server in a browser. If the server expects a token in a header instead, set it under `[mcp.servers.NAME.headers]`.',
  },
  MCP_LOGIN_FAILED: {
    meaning: 'Logging in to an MCP server failed. The message says why.',
    remedy:
      'Run the command again. If the server has no login, set a token under `[mcp.servers.NAME.headers]`.',
  },
  MCP_SERVER_FAILED: {
    meaning:
      'An MCP server could not be started or reached, or exited during a call. The message says which and why.',
    remedy: 'Read the reason in the message. `volley tools` shows the state of every server.',
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
    meaning: 'A tool definition is invalid. The message names the field.',
    remedy: 'Correct that field.',
  },
  DUPLICATE_TOOL: {
    meaning: 'Two tools have the same name.',
    remedy: 'Rename one of them.',
  },
  UNKNOWN_TOOL: {
    meaning: 'No tool has this name.',
    remedy: 'Use a name that the registry lists. The message suggests the nearest.',
  },
  TOOL_NOT_ALLOWED: {
    meaning: 'The tool exists, but the allow and deny lists forbid calling it.',
    remedy: 'Change `tools.allow` or `tools.deny`, or enable the tool in the configuration.',
  },
  INVALID_CALL: {
    meaning: 'A call is malformed. The message says where.',
    remedy: 'Correct the call. None of the calls in the list were started.',
  },
  INVALID_ARGUMENTS: {
    meaning:
      "The arguments of a call do not match the tool's schema. The message names the field and the rule.",
    remedy: 'Correct the argument. The tool was not started.',
  },
  INVALID_RESULT: {
    meaning: "A tool's result does not match its output schema.",
    remedy: 'Fix the tool or its schema.',
  },
  SCHEMA_TOO_SLOW: {
    meaning:
      'Checking a value against the JSON Schema of a tool exceeded its time or memory limit. The message names the tool and, if one is the cause, the pattern.',
    remedy:
      'Send a smaller value, or simplify the schema: use patterns without look-around and back-references.',
  },
  UNRESOLVED_REFERENCE: {
    meaning: 'An argument refers to a missing part of a result. The message names both.',
    remedy: 'Correct the path. The message lists what the result contains at the last path that exists.',
  },
  RESULT_TOO_LARGE: {
    meaning: 'The result of a tool is larger than its limit `resultBytes`.',
    remedy: 'Return less (a summary, a path to a file), or raise the limit.',
  },
  UNSERIALISABLE_RESULT: {
    meaning:
      'A tool returned a value that cannot be sent back from its thread or process, or written as JSON: for example a function, a circular structure, or data nested too deeply.',
    remedy: 'Return plain data.',
  },
  UNSERIALISABLE_INPUT: {
    meaning:
      'The input of a tool that runs in a thread or process contains a value that cannot be sent there.',
    remedy: 'Pass plain data, or run the tool inline.',
  },
  PATH_PROTECTED: {
    meaning:
      'A tool or command wrote to a protected path, or tried to. The message names the path and the rule.',
    remedy:
      "Write elsewhere, or add the path to `tools.writable` in volley.toml. Volley's own files cannot be made writable.",
  },
  OUTPUT_LIMIT: {
    meaning: 'A process wrote more output than its limit `outputBytes` and was killed.',
    remedy: 'Write less, or raise the limit.',
  },
  PROCESS_NOT_STARTED: {
    meaning: 'A program could not be started: it does not exist, is not executable, or the system refused.',
    remedy: 'Read the reason in the message; `diagnose()` reports what this system supports.',
  },
  COMMAND_FAILED: {
    meaning: 'A shell command exited with a nonzero status or was killed.',
    remedy:
      'Read the end of its output in the message and all of it in `details`. Call with `allow_failure: true` to get it as a result.',
  },
  SANDBOX_UNAVAILABLE: {
    meaning: 'The sandbox is required, but this system does not fully support it.',
    remedy: 'Install what `diagnose()` reports as missing, or set `processes.sandbox` to "auto".',
  },
  RUNNER_CLOSED: {
    meaning: 'The runner or coordinator is closed and accepts no more calls.',
    remedy: 'Create a new one, or call before close().',
  },
  PATH_NOT_ALLOWED: {
    meaning:
      'A path is outside the folders that file tools may use, or a write targets files that Volley itself reads and runs.',
    remedy: 'Use a path inside the roots, or add a folder to `tools.roots`.',
  },
  ADDRESS_NOT_ALLOWED: {
    meaning: 'A request would go to an address or host that is not allowed.',
    remedy: 'Use a public address, or change the http_request settings.',
  },
  REQUEST_FAILED: {
    meaning: 'A request got no complete response: refused, too slow, too large, or too many redirects.',
    remedy: 'Read the message, and raise the limit if it names one.',
  },
  INVALID_CONFIG: {
    meaning: 'The configuration is invalid. The message gives the file, line, value and valid values.',
    remedy: 'Correct that line.',
  },
  INVALID_MODULE: {
    meaning: 'A module of `tools.modules` cannot be loaded, or exports no tools.',
    remedy: 'Export the result of defineTool(), as the default or by name.',
  },
} as const satisfies ErrorTable;

/** Errors of batches, of the store and of files of tasks. */
const BATCH_ERRORS = {
  UNKNOWN_BATCH: {
    meaning: 'The store has no batch with this name.',
    remedy: 'Check the name against the list of batches, or add a task to it first.',
  },
  INEXACT_NUMBER: {
    meaning:
      'JSON input has an integer that a JSON number cannot represent exactly, or a number that is out of range.',
    remedy: 'Write it as a string. The message says where it is. Nothing was done.',
  },
  UNKNOWN_BLOB: {
    meaning: 'No result of the batch has a picture, sound or file with this id, or it was cleared.',
    remedy: 'Take the id from a result of the batch: it is next to `$blob`.',
  },
  UNKNOWN_TASK: {
    meaning: 'The batch has no task with this id or number; it may have been cleared.',
    remedy: 'Check the id against the list of tasks.',
  },
  TASK_SETTLED: {
    meaning: 'The task has already ended.',
    remedy: 'Reopen it with retry to run it again.',
  },
  BATCH_HELD: {
    meaning: 'Another process is running this batch. The message says which, where and since when.',
    remedy: 'Wait for it to finish, or stop it. Other batches can run meanwhile.',
  },
  STORE_NEWER: {
    meaning:
      'The store was written by a newer version of Volley and uses a format that this version does not support.',
    remedy: 'Update Volley, or use another file as the store.',
  },
  STORE_DAMAGED: {
    meaning: 'The store file is damaged or is not a Volley store. It was not changed.',
    remedy: 'Move the file and its -wal and -shm files away, or restore a backup.',
  },
  STORE_UNAVAILABLE: {
    meaning:
      'The store cannot be opened, read or written: no permission, a full disk, a deleted file, a lock that is not released, a database server that cannot be reached or refuses the login.',
    remedy: 'Fix the cause named in the message, then try again. A failed write leaves nothing behind.',
  },
  STORE_NOT_EMPTY: {
    meaning: 'A store was to be copied to a place where there is something already. Nothing was copied.',
    remedy: 'Name a file that does not exist, or another schema: `?schema=NAME`.',
  },
  COPY_DIFFERS: {
    meaning:
      'The copy of a store was given up, because the store was written to while it was copied, or because the copy was not read back as it was written. Nothing of the copy is left.',
    remedy: 'Stop the servers and commands that use the store, then copy it again.',
  },
  STORE_CLOSED: {
    meaning: 'The store is closed and accepts no more calls.',
    remedy: 'Open it again, or call before close().',
  },
  INVALID_REQUEST: {
    meaning: 'A request to batch_executor_tool or to the HTTP API is malformed. The message says where.',
    remedy: 'Correct the field named in the message. Nothing was done.',
  },
  UNKNOWN_ACTION: {
    meaning: 'batch_executor_tool has no such action.',
    remedy: 'Use one of the actions listed in the message.',
  },
  EXPORT_FAILED: {
    meaning: 'A results file, or a diagram of a run, could not be written. The previous file is unchanged.',
    remedy: 'Follow the message, which names the path, the reason and a fix.',
  },
  BATCH_RUNNING: {
    meaning: 'The batch is running in this process, and the request is possible only while it is not.',
    remedy: 'Wait for it to finish, or stop it first.',
  },
  OUTAGE: {
    meaning:
      'Several calls in a row failed for the same external reason, such as no network or a refused key, so the batch was stopped. `details` has the `kind` and the `scope`.',
    remedy:
      'Fix the cause, then start the batch again. Nothing was lost. `defaults.max_outages` sets how many calls it takes.',
  },
  INVALID_TASK_FILE: {
    meaning: 'A task file cannot be read. The message gives the file, line, column and what is valid.',
    remedy: 'Correct that place. Nothing was added.',
  },
  INVALID_ITEMS: {
    meaning: 'The for_each of a task did not produce a list, or produced too many items.',
    remedy:
      'Make it a list, or an expression or reference that produces one, within the limit given in the message.',
  },
  ITEM_FAILED: {
    meaning: 'Items of a group did not complete. The message names the first of them.',
    remedy:
      'See the error of that item. Retrying the group runs only those items again; `on_item_error: "null"` tolerates failed items.',
  },
  REPEAT_LIMIT: {
    meaning: 'A task was repeated as often as `max` allows, and its `until` is still false.',
    remedy: 'Raise `max`, add a `delay`, or correct `until`. `retry` starts over.',
  },
  WHEN_FALSE: {
    meaning: 'A task was skipped because its `when` is false. This is not a failure.',
    remedy: 'Nothing. An expression that mentions the task sees undefined.',
  },
  INVALID_TEMPLATE: {
    meaning: 'A template produces no tasks: its patterns match no file, or its params are invalid.',
    remedy: 'Correct what the message names. Nothing was added.',
  },
} as const satisfies ErrorTable;

/** Errors of expressions and programs. */
const SCRIPT_ERRORS = {
  INVALID_EXPRESSION: {
    meaning:
      'An expression is not a JavaScript expression, is too long, or uses `results` in a way that is not allowed there. `details` has its line and column.',
    remedy: 'Correct the place that the message shows.',
  },
  EXPRESSION_FAILED: {
    meaning: 'An expression threw an error. The message has the error and the place in the expression.',
    remedy: 'Correct the expression. Use `?.` and `??` for values that may be missing.',
  },
  EXPRESSION_TIMEOUT: {
    meaning: 'An expression took longer than its time limit.',
    remedy: 'Simplify it, or give it less data.',
  },
  EXPRESSION_MEMORY: {
    meaning: 'An expression, or the results that it uses, need more memory than its limit.',
    remedy: 'Use smaller results, or reduce them in an earlier task.',
  },
  EXPRESSION_TOO_DEEP: {
    meaning: 'An expression nested function calls or values too deeply.',
    remedy: 'Use a loop instead of recursion, or flatter values.',
  },
  EXPRESSION_PENDING: {
    meaning: 'The value of an expression is a promise that nothing can ever settle.',
    remedy: 'Return a value. Expressions cannot wait for anything.',
  },
  INVALID_PROGRAM: {
    meaning:
      'The text of a program is not the body of an async JavaScript function. `details` has the line and column.',
    remedy: 'Correct the place that the message shows.',
  },
  PROGRAM_FAILED: {
    meaning:
      'A program threw an error, or did not catch the error of a call. `details` has the code and the id of that call.',
    remedy: 'Correct the program, or catch the error.',
  },
  PROGRAM_CPU_TIME: {
    meaning: 'A program used more CPU time than its limit. Time spent waiting for calls does not count.',
    remedy: 'Do less work in the program, or raise the limit.',
  },
  PROGRAM_MEMORY: {
    meaning: 'A program needs more memory than its limit.',
    remedy: 'Keep less data at once, or raise the limit.',
  },
  PROGRAM_TOO_DEEP: {
    meaning: 'A program nested function calls or values too deeply.',
    remedy: 'Use a loop instead of recursion, or flatter values.',
  },
  PROGRAM_CALLS: {
    meaning: 'A program made more calls than its limit.',
    remedy: 'Make fewer calls, split the work, or raise the limit.',
  },
  PROGRAM_CALLS_IN_FLIGHT: {
    meaning: 'A program had more calls in flight at once than its limit.',
    remedy: 'Use `parallel(list, fn, { concurrency })`, or raise the limit.',
  },
  PROGRAM_TIMEOUT: {
    meaning: 'A program took longer than its limit, including the time spent waiting for calls.',
    remedy: 'Do less work in the program, or raise the limit.',
  },
  PROGRAM_STUCK: {
    meaning: 'A program awaits a promise but has no calls in flight, so nothing can ever settle it.',
    remedy: 'Await only calls and promises that depend on them.',
  },
  PROGRAM_DIVERGED: {
    meaning:
      'A resumed program behaved differently than before it was interrupted. `details` has the first call that differs.',
    remedy: 'Start it over with retry.',
  },
} as const satisfies ErrorTable;

/** Errors of the HTTP server. */
const SERVER_ERRORS = {
  NO_LEADER: {
    meaning:
      'None of the servers on this store took the request: the one that runs the batches has just died, or all are busy.',
    remedy:
      'Check with `volley status` whether the batch runs, then try again. `volley servers` shows who leads.',
  },
  TOO_MANY_STREAMS: {
    meaning: 'The server has reached its limit of open event streams.',
    remedy: 'Close some, try again later, or raise the limit named in the message.',
  },
  SERVER_CLOSING: {
    meaning: 'The server is stopping and accepts no more requests.',
    remedy: 'Try again when it is back.',
  },
  UNAUTHENTICATED: {
    meaning: 'The request has no token, or the token is unknown or expired.',
    remedy:
      'Send "Authorization: Bearer …" with a token from the configuration or from the file next to the store, or open the address that `volley dashboard` prints.',
  },
  NOT_PERMITTED: {
    meaning: 'The token is valid, but its scope does not allow the request.',
    remedy: 'Use a token with the scope named in the message.',
  },
  HOST_NOT_ALLOWED: {
    meaning: "The request's Host header is not a name of the server.",
    remedy: 'Use its address or localhost, or add the name to `server.allowed_hosts`.',
  },
  DUPLICATE_HOST: {
    meaning: 'A request has more than one Host header, so its host is ambiguous.',
    remedy: 'Send one Host header.',
  },
  ORIGIN_NOT_ALLOWED: {
    meaning: 'The request comes from another origin.',
    remedy: 'Add its origin to `server.allowed_origins` if it is allowed, and send a token.',
  },
  RATE_LIMITED: {
    meaning: 'A token, session or address exceeded its request rate.',
    remedy: 'Wait as long as Retry-After says, or raise `server.limits.requests_per_second`.',
  },
  BODY_TOO_LARGE: {
    meaning: "The request body exceeds the server's limit.",
    remedy: 'Send less at once, or raise `server.limits.max_body_bytes`.',
  },
  BODY_TOO_DEEP: {
    meaning: "The request's JSON is nested too deeply.",
    remedy: 'Make it flatter, or raise `server.limits.max_depth`.',
  },
  INVALID_JSON: {
    meaning: 'The request body is not valid UTF-8 JSON. The message says where.',
    remedy: 'Correct that place. Nothing was done.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    meaning: 'The request body is not declared as JSON.',
    remedy: 'Send "Content-Type: application/json".',
  },
  UNKNOWN_ROUTE: {
    meaning: 'The server has no such path.',
    remedy: 'Use a path from /openapi.json. The message suggests the nearest.',
  },
  METHOD_NOT_ALLOWED: {
    meaning: 'The path exists, but not for this method.',
    remedy: 'Use one of the methods in the Allow header.',
  },
  IDEMPOTENCY_CONFLICT: {
    meaning: 'The Idempotency-Key was already used for a request with a different body.',
    remedy: 'Use a new key for each new request, and reuse a key only to repeat one.',
  },
  RANGE_NOT_SATISFIABLE: {
    meaning: 'The requested range starts after the end of the result.',
    remedy: 'Request a range within the length given by Content-Range.',
  },
  SERVER_NOT_STARTED: {
    meaning:
      'The server could not listen: the address is taken or not allowed, or a certificate cannot be read.',
    remedy: 'Follow the message.',
  },
  SERVER_UNREACHABLE: {
    meaning: 'A server that should be running does not answer.',
    remedy: 'Check its log, or stop it and try again.',
  },
} as const satisfies ErrorTable;

/** Errors of features and their subtasks. */
const FEATURE_ERRORS = {
  UNKNOWN_FEATURE: {
    meaning: 'There is no feature with this name in `.tmp/tasks`. It may have been archived.',
    remedy: 'Check the name. The message suggests the nearest.',
  },
  UNKNOWN_SUBTASK: {
    meaning: 'The feature has no subtask with this sequence number.',
    remedy: 'Check the number. The message suggests the nearest.',
  },
  INVALID_FEATURE: {
    meaning: 'The files or the description of a feature are invalid. The message says which and where.',
    remedy: 'Correct what the message names. `volley tasks validate` checks a whole feature.',
  },
  SUBTASK_REFUSED: {
    meaning:
      'The subtask or feature is in a state that does not allow the request: claimed, blocked, done or waiting.',
    remedy: 'Read the message for the reason.',
  },
  VERIFICATION_FAILED: {
    meaning: 'A subtask cannot be completed because its deliverables or checks are missing or failing.',
    remedy: 'Finish what the message lists, or use `--force`, which is recorded in the file.',
  },
  TASKS_LOCKED: {
    meaning:
      'Another process held the lock of the tasks folder for too long, or the folder cannot be locked.',
    remedy: 'Check the process named in the message, then try again. Nothing was written.',
  },
  TASKS_UNAVAILABLE: {
    meaning: 'A file in the tasks folder cannot be read or written. The previous file is unchanged.',
    remedy: 'Read the message, which names the path and the system error.',
  },
  WORKSPACE_UNAVAILABLE: {
    meaning:
      'Agents cannot work in the project in its current state: worktrees need git and a branch without uncommitted changes.',
    remedy: 'Follow the message, or run without worktrees.',
  },
  WORKTREE_FAILED: {
    meaning: 'A worktree could not be created or removed: git or the setup command failed.',
    remedy: 'Read its output in the message. No work is lost.',
  },
  AGENT_NOT_ALLOWED: {
    meaning: 'A subtask cannot be delegated: its agent is unknown or not allowed.',
    remedy:
      'Describe the agent under `[tasks.agents.NAME]` in `volley.toml`, or choose one for all with `--agent`.',
  },
  AGENT_NOT_INSTALLED: {
    meaning: 'The program of an agent cannot be found, or is not executable. Nothing was started.',
    remedy: 'Install it, or name another with `command` under `[tasks.agents.NAME]` in `volley.toml`.',
  },
  AGENT_WORK_REFUSED: {
    meaning:
      'What a worker returned for an attempt at a subtask is not one well-formed commit on top of the one that it was sent, is too large, or is not what a worker returns.',
    remedy:
      'Nothing of it reached the project. Update the clone of the worker if the message says that it lacks a commit. Otherwise, find out who has the key of the cluster.',
  },
  INVALID_ANSWER: {
    meaning: 'An agent or a model was asked, and none of its answers was valid.',
    remedy: 'The message says what was wrong with the last one. Make the schema or the prompt clearer.',
  },
  MODEL_FAILED: {
    meaning: 'A model answered with an error, or with something that is not an answer.',
    remedy: 'Read the message from its server. Check `[models.NAME]` in `volley.toml`.',
  },
  FEATURE_RUNNING: {
    meaning: 'Another process is running the feature.',
    remedy: 'Wait for it to finish, or follow it as the message says. Nothing was started.',
  },
  FEATURE_BATCH: {
    meaning:
      'The batch belongs to a run of a feature. Its tasks start agents and cannot be run by themselves.',
    remedy: 'Run what is left with `volley tasks run`. Nothing was changed.',
  },
} as const satisfies ErrorTable;

/** Errors of clusters. */
const CLUSTER_ERRORS = {
  CLUSTER_KEY_MISSING: {
    meaning: 'The environment variable `VOLLEY_CLUSTER_KEY` is missing or shorter than 16 characters.',
    remedy:
      'Set it to the same secret for the coordinator and all workers. `openssl rand -hex 32` makes a good one.',
  },
  CLUSTER_NOT_INSTALLED: {
    meaning: 'The packages that clusters need were not installed with Volley.',
    remedy: 'Install them: `npm install bullmq ioredis`, and `aws4fetch` for artifacts in S3.',
  },
  CLUSTER_UNREACHABLE: {
    meaning: 'The Redis server of the cluster cannot be reached, or refuses the login.',
    remedy: 'Check the URL, the user and the password. `volley doctor` tests the connection.',
  },
  CLUSTER_UNSUITABLE: {
    meaning:
      'The Redis server is too old, a replica, may drop keys when its memory is full, or refuses commands.',
    remedy:
      'Use Redis 6.2 or newer, or Valkey, with `maxmemory-policy noeviction` and free memory, as a user who may use all keys and channels with the prefix.',
  },
  CLUSTER_BUSY: {
    meaning:
      'Another process coordinates the workers of this cluster. There is one at a time for each prefix.',
    remedy: 'Wait until it has ended, or use another `cluster.prefix` with workers of its own.',
  },
  CLUSTER_NAME_TAKEN: {
    meaning: 'A running worker of the cluster has the same name.',
    remedy: 'Choose another name with `--name`. After a crash, wait until its lease has ended.',
  },
  CLUSTER_VALUE_TOO_LARGE: {
    meaning: 'Arguments, a result or files are too large to be sent between machines.',
    remedy: 'Set `cluster.artifacts` to a folder that all machines share or to a bucket, or send less.',
  },
  CLUSTER_ARTIFACTS_REFUSED: {
    meaning:
      'The folder or bucket of `cluster.artifacts` cannot be used: it is missing, the credentials are, or they do not allow it. `reason` is the code of the S3 server.',
    remedy: 'Correct `cluster.artifacts`, or the permissions or credentials. `volley doctor` tests them.',
  },
  CLUSTER_ARTIFACTS_UNREACHABLE: {
    meaning: 'The S3 server of `cluster.artifacts` does not answer, or is out of order.',
    remedy: 'Check the endpoint and the network. Calls of idempotent tools can be retried.',
  },
  CLUSTER_ARTIFACT_MISSING: {
    meaning:
      'A large argument, result or file is not where the other machine put it, or was changed there: in `cluster.artifacts`, or on the Redis server.',
    remedy: 'Check that the coordinator and all workers have the same `cluster.artifacts`.',
  },
  CLUSTER_FILES_REFUSED: {
    meaning:
      'Files that a call declares cannot be sent between machines: they are too many, outside the roots, or not what was declared.',
    remedy:
      'Declare fewer files, as relative paths inside the first root, or run the call on a worker that shares the folder.',
  },
  CLUSTER_UNKNOWN_WORKER: {
    meaning: 'No worker of the cluster has this name.',
    remedy: '`volley workers` lists them.',
  },
  WORKER_LOST: {
    meaning:
      'The worker stopped, lost its connection or was replaced while the call ran. How far it got is unknown.',
    remedy:
      'Calls of idempotent tools are retried on another worker. Check the effects of others before you retry them.',
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
  ...SCRIPT_ERRORS,
  ...SERVER_ERRORS,
  ...FEATURE_ERRORS,
  ...CLUSTER_ERRORS,
  INTERNAL: {
    meaning: 'An internal invariant of Volley is broken.',
    remedy: 'Please report it with the message. It is a bug in Volley, not in your code.',
  },
} as const satisfies ErrorTable;
