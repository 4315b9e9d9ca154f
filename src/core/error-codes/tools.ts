import type { ErrorTable } from './table.ts';

/** Errors of tools, of where they run, and of the configuration. */
export const TOOL_ERRORS = {
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
