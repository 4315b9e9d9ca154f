import { ACTIONS } from '../actions/all.ts';
import { BATCH_TOOL } from '../actions/request.ts';
import { CONCURRENCY_BY_KIND } from '../run/auto-concurrency.ts';

/** How many tasks to run at once, by the kind of work; `max_concurrent: "auto"` does the same. */
export const CONCURRENCY_ADVICE = `How many at once (max_concurrent):
- work that computes (half a core or more for a task): as many as there are cores, here ${CONCURRENCY_BY_KIND.cpu}
- files and other I/O: 10 to 20; "auto" takes ${CONCURRENCY_BY_KIND.io}
- calls of remote APIs: 5 to 10, to respect their rate limits; "auto" takes ${CONCURRENCY_BY_KIND.remote}
- a mixture: "auto" takes the mean, weighted by how many there are of each
The limits of the configuration hold besides.`;

/** What a model is told of `batch_executor_tool`. */
export const BATCH_TOOL_DESCRIPTION = `${BATCH_TOOL} runs many calls of tools in parallel and keeps tasks and results in a file, so that they survive a restart.

Use it for many similar, independent pieces of work (analyse 50 files, ask 20 endpoints), for work with dependencies, and for work that takes longer than one answer.
Do not use it for one or two quick calls, or where the next step depends on looking at each result: call the tool itself.

Actions:
${ACTIONS.map(({ name, summary }) => `- ${name}: ${summary}`).join('\n')}

The usual way: add_batch, start, status or wait, results, then export or clear.
{"action": "add_batch", "tasks": [
  {"id": "list", "function": "list_directory", "params": {"path": "src"}},
  {"name": "Analyze main.py", "function": "code_analyzer_tool", "params": {"action": "analyze", "file_path": "src/main.py"}, "priority": "high", "max_retries": 2}
]}
{"action": "start", "max_concurrent": "auto", "timeout": 300, "wait": true}
{"action": "results", "format": "summary"}

A task may name others in depends_on, and use a part of their results in its params: {"$from": "list", "path": "/entries/0/path"} with its type, or "\${list.entries.0.path}" inside a text.
Priorities: critical, high, normal (or medium), low, background. All times are in seconds.
If some failed: results tells why, retry opens only those again, and start runs them.
Results are shown in part; {"action": "results", "id": "t1"} gives one as a whole.

Limits: 100,000 tasks in one add_batch, 10 MB of params for a task, 64 MB for a result; export writes inside the allowed folders only.

${CONCURRENCY_ADVICE}`;
