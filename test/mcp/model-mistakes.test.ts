import { describe, expect, test } from 'vitest';
import { DEFINITIONS } from '../../src/batch/actions/definitions.ts';
import { readRequest } from '../../src/batch/actions/request.ts';
import { readInput } from '../../src/batch/input/understand.ts';
import { VolleyError } from '../../src/core/errors.ts';
import { MCP_TOOLS } from '../../src/mcp/server/serve-tools.ts';
import { openRig } from '../batch/support/rig.ts';

type Tool =
  | 'batch_executor_tool'
  | 'run_batch'
  | 'run_program'
  | 'batch_results'
  | 'batch_status'
  | 'list_batch_functions'
  | 'tasks_run';

interface Mistake {
  readonly tool: Tool;
  readonly given: unknown;
  /** The correct request, if it is understood. */
  readonly means?: object;
  /** The code of the error, if it is refused, and what it must list. */
  readonly refused?: string;
  readonly lists?: readonly string[];
}

const READ = { function: 'read_file', params: { path: 'a.txt' } };
const FIELDS_OF_A_TASK = ['function', 'params', 'priority', 'max_retries', 'depends_on'];
const ACTIONS = DEFINITIONS.map(({ name }) => name);

/** A batch of one task that differs from {@link READ}. */
const batchOf = (task: object) => ({ tasks: [task] });

const MISTAKES: Readonly<Record<string, Mistake>> = {
  // Lists and objects as text.
  'tasks as JSON text': { tool: 'run_batch', given: { tasks: JSON.stringify([READ]) }, means: batchOf(READ) },
  'one task as JSON text': {
    tool: 'run_batch',
    given: { tasks: JSON.stringify(READ) },
    means: batchOf(READ),
  },
  'each task as JSON text': {
    tool: 'run_batch',
    given: { tasks: [JSON.stringify(READ)] },
    means: batchOf(READ),
  },
  'params as JSON text': {
    tool: 'run_batch',
    given: batchOf({ function: 'read_file', params: '{"path": "a.txt"}' }),
    means: batchOf(READ),
  },
  'arguments as JSON text, as in the API of OpenAI': {
    tool: 'run_batch',
    given: batchOf({ name: 'read_file', arguments: '{"path": "a.txt"}' }),
    means: batchOf(READ),
  },
  'ids as JSON text': {
    tool: 'batch_executor_tool',
    given: { action: 'cancel', ids: '["a", "b"]' },
    means: { action: 'cancel', ids: ['a', 'b'] },
  },
  'names as JSON text': {
    tool: 'list_batch_functions',
    given: { names: '["read_file"]' },
    means: { names: ['read_file'] },
  },
  'resources as JSON text': {
    tool: 'run_batch',
    given: batchOf({ ...READ, resources: '{"cpu": "2"}' }),
    means: batchOf({ ...READ, resources: { cpu: 2 } }),
  },
  'the whole request as JSON text in an envelope': {
    tool: 'batch_executor_tool',
    given: { tool_args: '{"action": "start", "max_concurrent": "5"}' },
    means: { action: 'start', max_concurrent: 5 },
  },
  'tasks as broken JSON': {
    tool: 'run_batch',
    given: { tasks: '[{"function": "read_file",' },
    refused: 'INVALID_REQUEST',
    lists: ['tasks'],
  },
  'params as prose': {
    tool: 'run_batch',
    given: batchOf({ function: 'read_file', params: 'path a.txt' }),
    refused: 'INVALID_REQUEST',
    lists: ['params', 'object'],
  },
  'params as a list': {
    tool: 'run_batch',
    given: batchOf({ function: 'read_file', params: ['a.txt'] }),
    refused: 'INVALID_REQUEST',
    lists: ['params', 'object'],
  },
  'a JSON string as a value of params stays as it is': {
    tool: 'run_batch',
    given: batchOf({ tool: 'write_file', params: { path: 'a.json', content: '{"a": 1}', n: '2' } }),
    means: batchOf({ function: 'write_file', params: { path: 'a.json', content: '{"a": 1}', n: '2' } }),
  },

  // One value for a list.
  'a lone task': { tool: 'run_batch', given: { tasks: READ }, means: batchOf(READ) },
  'a lone dependency': {
    tool: 'run_batch',
    given: {
      tasks: [
        { id: 'a', ...READ },
        { ...READ, depends_on: 'a' },
      ],
    },
    means: {
      tasks: [
        { id: 'a', ...READ },
        { ...READ, depends_on: ['a'] },
      ],
    },
  },
  'a lone name': {
    tool: 'list_batch_functions',
    given: { names: 'read_file' },
    means: { names: ['read_file'] },
  },
  'a lone status': {
    tool: 'batch_results',
    given: { batch: 'b', status: 'failed' },
    means: { batch: 'b', status: ['failed'] },
  },
  'statuses with a comma': {
    tool: 'batch_results',
    given: { batch: 'b', status: 'Failed, SKIPPED' },
    means: { batch: 'b', status: ['failed', 'skipped'] },
  },
  'an id for ids': {
    tool: 'batch_executor_tool',
    given: { action: 'retry', id: 't3' },
    means: { action: 'retry', ids: ['t3'] },
  },
  'task_ids for ids': {
    tool: 'batch_executor_tool',
    given: { action: 'cancel', task_ids: ['t3'] },
    means: { action: 'cancel', ids: ['t3'] },
  },
  'ids with a comma, which may be one id': {
    tool: 'batch_executor_tool',
    given: { action: 'cancel', ids: 'a,b' },
    refused: 'INVALID_REQUEST',
    lists: ['ids', 'list'],
  },
  'locks with a comma, which may be one lock': {
    tool: 'run_batch',
    given: batchOf({ ...READ, resources: { exclusive: 'db,cache' } }),
    refused: 'INVALID_REQUEST',
    lists: ['exclusive', 'list'],
  },
  'a function for tasks': {
    tool: 'run_batch',
    given: { tasks: ['read_file'] },
    refused: 'INVALID_REQUEST',
    lists: ['tasks[0]', 'object'],
  },

  // Numbers, ids and flags.
  'a numeric id': {
    tool: 'run_batch',
    given: {
      tasks: [
        { id: 1, ...READ },
        { id: 2, ...READ, depends_on: [1] },
      ],
    },
    means: {
      tasks: [
        { id: '1', ...READ },
        { id: '2', ...READ, depends_on: ['1'] },
      ],
    },
  },
  'a lone numeric dependency': {
    tool: 'run_batch',
    given: {
      tasks: [
        { id: '1', ...READ },
        { ...READ, depends_on: 1 },
      ],
    },
    means: {
      tasks: [
        { id: '1', ...READ },
        { ...READ, depends_on: ['1'] },
      ],
    },
  },
  'a number as text': {
    tool: 'run_batch',
    given: batchOf({ ...READ, max_retries: '2', timeout: '1.5' }),
    means: batchOf({ ...READ, max_retries: 2, timeout: 1.5 }),
  },
  'a concurrency as text': {
    tool: 'run_batch',
    given: { ...batchOf(READ), max_concurrent: '8' },
    means: { ...batchOf(READ), max_concurrent: 8 },
  },
  AUTO: {
    tool: 'batch_executor_tool',
    given: { action: 'start', max_concurrent: 'AUTO' },
    means: { action: 'start', max_concurrent: 'auto' },
  },
  'a flag as text': {
    tool: 'run_batch',
    given: { ...batchOf(READ), fail_fast: 'True' },
    means: { ...batchOf(READ), fail_fast: true },
  },
  'a flag as a number': {
    tool: 'batch_executor_tool',
    given: { action: 'status', detailed: 1 },
    means: { action: 'status', detailed: true },
  },
  'false as text': {
    tool: 'batch_executor_tool',
    given: { action: 'stop', graceful: 'false' },
    means: { action: 'stop', graceful: false },
  },
  'wait as true where seconds are meant': {
    tool: 'run_batch',
    given: { ...batchOf(READ), wait: true },
    means: { ...batchOf(READ), wait: 50 },
  },
  'wait as false where seconds are meant': {
    tool: 'run_batch',
    given: { ...batchOf(READ), wait: 'false' },
    means: { ...batchOf(READ), wait: 0 },
  },
  'wait as seconds where a flag is usual': {
    tool: 'batch_executor_tool',
    given: { action: 'start', wait: '30' },
    means: { action: 'start', wait: 30 },
  },
  'wait of 0 seconds where a flag is usual': {
    tool: 'batch_executor_tool',
    given: { action: 'start', wait: 0 },
    means: { action: 'start', wait: false },
  },
  'a number with a unit': {
    tool: 'run_batch',
    given: { ...batchOf(READ), timeout: '30s' },
    refused: 'INVALID_REQUEST',
    lists: ['timeout', 'number'],
  },
  'a number in words': {
    tool: 'run_batch',
    given: batchOf({ ...READ, max_retries: 'three' }),
    refused: 'INVALID_REQUEST',
    lists: ['max_retries'],
  },
  'a number out of range as text': {
    tool: 'run_batch',
    given: batchOf({ ...READ, max_retries: '-1' }),
    refused: 'INVALID_REQUEST',
    lists: ['max_retries', 'at least 0'],
  },
  'no limit as text': {
    tool: 'batch_executor_tool',
    given: { action: 'start', max_concurrent: 'unlimited' },
    refused: 'INVALID_REQUEST',
    lists: ['max_concurrent', 'auto'],
  },
  'an id that a number cannot hold': {
    tool: 'run_batch',
    given: batchOf({ ...READ, id: 2 ** 60 }),
    refused: 'INVALID_REQUEST',
    lists: ['id', 'string'],
  },
  'yes for true': {
    tool: 'run_batch',
    given: { ...batchOf(READ), fail_fast: 'yes' },
    refused: 'INVALID_REQUEST',
    lists: ['fail_fast', 'true or false'],
  },

  // Words.
  HIGH: {
    tool: 'run_batch',
    given: batchOf({ ...READ, priority: 'HIGH' }),
    means: batchOf({ ...READ, priority: 'high' }),
  },
  'a word with an underscore': {
    tool: 'run_batch',
    given: batchOf({ ...READ, on_dependency_failure: 'on_failure' }),
    means: batchOf({ ...READ, on_dependency_failure: 'on-failure' }),
  },
  'an upper-case format': {
    tool: 'batch_executor_tool',
    given: { action: 'export', format: 'CSV', output_file: 'a.csv' },
    means: { action: 'export', format: 'csv', output_file: 'a.csv' },
  },
  'an unknown priority': {
    tool: 'run_batch',
    given: batchOf({ ...READ, priority: 'urgent' }),
    refused: 'UNKNOWN_PRIORITY',
    lists: ['critical', 'high', 'normal', 'low', 'background'],
  },
  'a priority as a number': {
    tool: 'run_batch',
    given: batchOf({ ...READ, priority: 1 }),
    refused: 'UNKNOWN_PRIORITY',
    lists: ['critical', 'background'],
  },
  'a status that is none': {
    tool: 'batch_results',
    given: { batch: 'b', status: ['done'] },
    refused: 'INVALID_REQUEST',
    lists: ['completed', 'failed', 'skipped'],
  },

  // Absent options.
  'null for options': {
    tool: 'run_batch',
    given: { tasks: [{ ...READ, priority: null, depends_on: null, id: null }], batch: null, timeout: null },
    means: batchOf(READ),
  },
  'null for params': {
    tool: 'run_batch',
    given: batchOf({ function: 'list_directory', params: null }),
    means: batchOf({ function: 'list_directory' }),
  },
  'null for all options of an action': {
    tool: 'batch_executor_tool',
    given: { action: 'results', batch: 'b', format: null, filter_status: null, limit: null, id: null },
    means: { action: 'results', batch: 'b' },
  },
  'all as false next to ids': {
    tool: 'batch_executor_tool',
    given: { action: 'cancel', ids: ['a'], all: false },
    means: { action: 'cancel', ids: ['a'] },
  },
  'null for what is needed': {
    tool: 'run_batch',
    given: batchOf({ function: null, params: {} }),
    refused: 'INVALID_REQUEST',
    lists: ['function'],
  },
  'false where only true means something': {
    tool: 'tasks_run',
    given: { feature: 'auth', worktrees: false },
    refused: 'INVALID_REQUEST',
    lists: ['worktrees', 'true'],
  },

  // Names of fields.
  'tool and arguments': {
    tool: 'run_batch',
    given: batchOf({ tool: 'read_file', arguments: { path: 'a.txt' } }),
    means: batchOf(READ),
  },
  'tool_name and tool_args': {
    tool: 'run_batch',
    given: batchOf({ tool_name: 'read_file', tool_args: { path: 'a.txt' } }),
    means: batchOf(READ),
  },
  'name and input, as in the API of Anthropic': {
    tool: 'run_batch',
    given: batchOf({ id: 'x', name: 'read_file', input: { path: 'a.txt' } }),
    means: batchOf({ id: 'x', ...READ }),
  },
  camelCase: {
    tool: 'run_batch',
    given: { tasks: [{ ...READ, maxRetries: 2, dependsOn: [], onDependencyFailure: 'run' }], failFast: true },
    means: {
      tasks: [{ ...READ, max_retries: 2, depends_on: [], on_dependency_failure: 'run' }],
      fail_fast: true,
    },
  },
  dashes: {
    tool: 'run_batch',
    given: { ...batchOf({ ...READ, 'max-retries': 1 }), 'max-concurrent': 2 },
    means: { ...batchOf({ ...READ, max_retries: 1 }), max_concurrent: 2 },
  },
  'dependencies, retries, concurrency': {
    tool: 'run_batch',
    given: { tasks: [{ ...READ, dependencies: ['a'], retries: 3 }], concurrency: 4 },
    means: { tasks: [{ ...READ, depends_on: ['a'], max_retries: 3 }], max_concurrent: 4 },
  },
  'milliseconds that say so': {
    tool: 'run_batch',
    given: { ...batchOf({ ...READ, timeoutMs: 1500 }), timeout_ms: '60000' },
    means: { ...batchOf({ ...READ, timeout: 1.5 }), timeout: 60 },
  },
  'seconds that say so': {
    tool: 'run_batch',
    given: { ...batchOf(READ), timeout_seconds: 60, wait_seconds: 5 },
    means: { ...batchOf(READ), timeout: 60, wait: 5 },
  },
  'calls for tasks': { tool: 'run_batch', given: { calls: [READ] }, means: batchOf(READ) },
  'batch_id for batch': {
    tool: 'batch_status',
    given: { batch_id: 'b', verbose: true },
    means: { batch: 'b', detailed: true },
  },
  'task_id for id': {
    tool: 'batch_results',
    given: { batch: 'b', task_id: 3 },
    means: { batch: 'b', id: '3' },
  },
  'status for filter_status': {
    tool: 'batch_executor_tool',
    given: { action: 'results', status: 'failed' },
    means: { action: 'results', filter_status: 'failed' },
  },
  'file for output_file': {
    tool: 'batch_executor_tool',
    given: { action: 'export', file: 'a.json' },
    means: { action: 'export', output_file: 'a.json' },
  },
  'query for search': {
    tool: 'list_batch_functions',
    given: { query: 'read file', limit: '5' },
    means: { search: 'read file', limit: 5 },
  },
  'name for names': {
    tool: 'list_batch_functions',
    given: { name: 'read_file' },
    means: { names: ['read_file'] },
  },
  'script and params of a program': {
    tool: 'run_program',
    given: { script: 'return args.n', params: { n: 1 } },
    means: { code: 'return args.n', args: { n: 1 } },
  },
  'two names of one field': {
    tool: 'run_batch',
    given: batchOf({ function: 'read_file', args: { path: 'a' }, input: { path: 'b' } }),
    refused: 'INVALID_REQUEST',
    lists: FIELDS_OF_A_TASK,
  },
  'a field and another name of it': {
    tool: 'run_batch',
    given: batchOf({ function: 'read_file', tool: 'write_file', params: {} }),
    refused: 'INVALID_REQUEST',
    lists: FIELDS_OF_A_TASK,
  },
  'arguments next to the function': {
    tool: 'run_batch',
    given: batchOf({ function: 'read_file', path: 'a.txt' }),
    refused: 'INVALID_REQUEST',
    lists: FIELDS_OF_A_TASK,
  },
  'steps, which would be in order': {
    tool: 'run_batch',
    given: { steps: [READ] },
    refused: 'INVALID_REQUEST',
    lists: ['tasks'],
  },
  'a field that there is not': {
    tool: 'run_batch',
    given: { ...batchOf(READ), parallel: true },
    refused: 'INVALID_REQUEST',
    lists: ['tasks', 'max_concurrent', 'fail_fast'],
  },
  'force, which is the opposite of graceful': {
    tool: 'batch_executor_tool',
    given: { action: 'stop', force: true },
    refused: 'INVALID_REQUEST',
    lists: ['graceful'],
  },

  // Actions and envelopes.
  'an action in camelCase': {
    tool: 'batch_executor_tool',
    given: { action: 'addBatch', tasks: [READ] },
    means: { action: 'add_batch', tasks: [READ] },
  },
  'an action in capitals': {
    tool: 'batch_executor_tool',
    given: { action: ' STATUS ' },
    means: { action: 'status' },
  },
  'thoughts next to the action': {
    tool: 'batch_executor_tool',
    given: { thoughts: ['I look'], action: 'list' },
    means: { action: 'list' },
  },
  'the envelope of MCP': {
    tool: 'batch_executor_tool',
    given: { name: 'batch_executor_tool', arguments: { action: 'wait', timeout: '5' } },
    means: { action: 'wait', timeout: 5 },
  },
  'the envelope of MCP for another tool': {
    tool: 'batch_executor_tool',
    given: { name: 'shell', arguments: { action: 'wait' } },
    refused: 'INVALID_REQUEST',
    lists: ACTIONS,
  },
  'no action': {
    tool: 'batch_executor_tool',
    given: { tasks: [READ] },
    refused: 'INVALID_REQUEST',
    lists: ACTIONS,
  },
  'an action that there is not': {
    tool: 'batch_executor_tool',
    given: { action: 'delete', batch: 'b' },
    refused: 'UNKNOWN_ACTION',
    lists: ACTIONS,
  },
  'run for start': {
    tool: 'batch_executor_tool',
    given: { action: 'run' },
    refused: 'UNKNOWN_ACTION',
    lists: ACTIONS,
  },
  'a filter of another name, without which everything would be deleted': {
    tool: 'batch_executor_tool',
    given: { action: 'clear', filter: 'failed' },
    refused: 'INVALID_REQUEST',
    lists: ['filter_status'],
  },
  'an unknown format': {
    tool: 'batch_executor_tool',
    given: { action: 'export', format: 'pdf', output_file: 'a.pdf' },
    refused: 'INVALID_REQUEST',
    lists: ['json', 'csv', 'jsonl', 'markdown'],
  },
};

interface Read {
  readonly action: string;
  readonly args: unknown;
  readonly understood: readonly string[];
}

/** Reads a request as its tool does, without doing it. */
function read(tool: Tool, given: unknown): Read {
  if (tool !== 'batch_executor_tool') {
    const { input } = MCP_TOOLS.find(({ name }) => name === tool)!;
    return { action: tool, ...readInput(input, tool, given) };
  }
  const request = readRequest(given);
  const { schema } = DEFINITIONS.find(({ name }) => name === request.action)!;
  const { args, understood } = readInput(schema, request.action, request.args);
  return { action: request.action, args, understood: [...request.understood, ...understood] };
}

function refusalOf(work: () => unknown): VolleyError | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return error as VolleyError;
  }
}

describe('mistakes of models', () => {
  test.each(Object.entries(MISTAKES))('%s', (_, { tool, given, means, refused, lists = [] }) => {
    if (means === undefined) {
      const error = refusalOf(() => read(tool, given));
      expect(error).toBeInstanceOf(VolleyError);
      expect(error).toMatchObject({ code: refused });
      for (const name of lists) expect(error!.message).toContain(name);
      return;
    }
    const { action, args, understood } = read(tool, given);
    const correct = read(tool, means);
    expect({ action, args }).toEqual({ action: correct.action, args: correct.args });
    expect(correct.understood, 'what is correct is not interpreted').toEqual([]);
    if (!('tool_args' in (given as object)) && !('arguments' in (given as object)))
      expect(understood).not.toEqual([]);
  });

  test('there are at least 60, and at least 60 % of them are understood', () => {
    const all = Object.values(MISTAKES);
    expect(all.length).toBeGreaterThanOrEqual(60);
    expect(all.filter(({ means }) => means !== undefined).length / all.length).toBeGreaterThanOrEqual(0.6);
  });

  test('what was understood is reported, and what was refused has changed nothing', async () => {
    const { executor, store } = await openRig();
    const done = await executor.handle({
      action: 'ADD_BATCH',
      tasks: '[{"tool": "echo", "id": 7, "args": {"text": "x"}}, {"tool": "echo", "priority": "HIGH"}]',
    });
    expect(done).toMatchObject({ ok: true, action: 'add_batch', data: { added: 2 } });
    expect(done.data['understood']).toEqual([
      'action: "ADD_BATCH" → add_batch',
      'tasks: JSON text → list',
      'tasks[].tool → function (2 times)',
      'tasks[].args → params',
      'tasks[].id: 7 → "7"',
      'tasks[].priority: "HIGH" → "high"',
    ]);
    expect(done.text).toMatch(/^Understood: .*tasks\[\]\.tool → function/);
    expect((await store.task('default', '7'))?.params).toBe('{"text":"x"}');

    const refused = await executor.handle({ action: 'cancel', ids: null, all: 'false' });
    expect(refused).toMatchObject({ ok: false, error: { code: 'INVALID_REQUEST' } });
    expect((await store.batch('default'))?.counts).toMatchObject({ open: 2, cancelled: 0 });
  });
});
