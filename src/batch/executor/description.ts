import { ACTIONS } from '../actions/all.ts';
import { BATCH_TOOL } from '../actions/request.ts';
import { CONCURRENCY_BY_KIND } from '../run/auto-concurrency.ts';

/** Recommended concurrency by kind of work. `max_concurrent: "auto"` follows it. */
export const CONCURRENCY_ADVICE = `How many at once (max_concurrent):
- CPU-bound tasks (half a core or more each): one per core, here ${CONCURRENCY_BY_KIND.cpu}
- files and other I/O: 10 to 20; "auto" uses ${CONCURRENCY_BY_KIND.io}
- remote API calls: 5 to 10, to stay within rate limits; "auto" uses ${CONCURRENCY_BY_KIND.remote}
- mixed tasks: "auto" uses the weighted mean
The limits of the configuration also apply.`;

/** The description of `batch_executor_tool` for models. */
export const BATCH_TOOL_DESCRIPTION = `${BATCH_TOOL} runs many tool calls in parallel. It stores tasks and results in a file, so they survive a restart.

Use it for many similar, independent tasks (analyze 50 files, query 20 endpoints), for tasks with dependencies, and for work that outlasts one response.
Do not use it for one or two quick calls, or when you must look at each result before the next step: call the tool itself.

Actions:
${ACTIONS.map(({ name, summary }) => `- ${name}: ${summary}`).join('\n')}

Typical order: add_batch, start, status or wait, results, then export or clear.
{"action": "add_batch", "tasks": [
  {"id": "list", "function": "list_directory", "params": {"path": "src"}},
  {"name": "Analyze main.py", "function": "code_analyzer_tool", "params": {"action": "analyze", "file_path": "src/main.py"}, "priority": "high", "max_retries": 2}
]}
{"action": "start", "max_concurrent": "auto", "timeout": 300, "wait": true}
{"action": "results", "format": "summary"}

A task may list others in depends_on and use parts of their results in its params: {"$from": "list", "path": "/entries/0/path"} keeps the type; "\${list.entries.0.path}" works inside a string.
Priorities: critical, high, normal (or medium), low, background. All times are in seconds.
After failures: results shows the reasons, retry reopens only those tasks, and start runs them.
Long results are truncated; {"action": "results", "id": "t1"} returns one in full.

Limits: 100,000 tasks per add_batch, 10 MB of params per task, 64 MB per result. export writes only inside the allowed folders.

${CONCURRENCY_ADVICE}`;
