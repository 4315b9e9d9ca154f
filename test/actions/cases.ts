import type { BatchRequest } from '../../src/batch/executor/batch-executor.ts';

/** What is sent, and what every interface answers: data, or the code of a refusal. */
export interface Step {
  readonly request: BatchRequest | { readonly action: string; readonly [field: string]: unknown };
  readonly data?: object;
  readonly code?: string;
}

export interface ActionCase {
  readonly name: string;
  readonly steps: readonly Step[];
}

/** The folder of each case has this file. */
export const FILE = { name: 'a.txt', text: 'first' };

const READ = { id: 'a', function: 'read_file', params: { path: FILE.name } };
const FAIL = { id: 'b', function: 'read_file', params: { path: 'missing.txt' }, max_retries: 0 };
const ADDED: Step = { request: { action: 'add_batch', batch: 'w', tasks: [READ, FAIL] } };

/** Each starts with an empty store; its steps follow each other. */
export const CASES: readonly ActionCase[] = [
  {
    name: 'tasks are added, run, read, retried, cancelled, exported and deleted',
    steps: [
      { ...ADDED, data: { batch: 'w', added: 2, ids: ['a', 'b'], counts: { open: 2 }, state: 'idle' } },
      { request: { action: 'status', batch: 'w' }, data: { batch: 'w', state: 'idle', counts: { open: 2 } } },
      {
        request: { action: 'start', batch: 'w', max_concurrent: 2, timeout: 60, wait: true },
        data: { batch: 'w', counts: { completed: 1, failed: 1 }, succeeded: false },
      },
      { request: { action: 'wait', batch: 'w', timeout: 60 }, data: { batch: 'w', finished: true } },
      {
        request: { action: 'results', batch: 'w', format: 'json', limit: 1 },
        data: { results: [{ id: 'a', status: 'completed' }], next_cursor: 1 },
      },
      {
        request: { action: 'results', batch: 'w', format: 'json', cursor: 1, filter_status: ['failed'] },
        data: { results: [{ id: 'b', status: 'failed' }] },
      },
      {
        request: { action: 'results', batch: 'w', id: 'a', range: { offset: 0, length: 5 } },
        data: { id: 'a', next_offset: 5 },
      },
      {
        request: { action: 'logs', batch: 'w', id: 'a', limit: 5 },
        data: { id: 'a', attempt: 0, attempts: [], lines: [] },
      },
      { request: { action: 'retry', batch: 'w', ids: ['b'] }, data: { reopened: 1, counts: { open: 1 } } },
      { request: { action: 'cancel', batch: 'w', all: true }, data: { cancelled: 1 } },
      { request: { action: 'retry', batch: 'w' }, data: { reopened: 1 } },
      { request: { action: 'cancel', batch: 'w', ids: ['b'] }, data: { cancelled: 1 } },
      { request: { action: 'stop', batch: 'w', graceful: false }, data: { batch: 'w' } },
      { request: { action: 'list' }, data: { total: 1, batches: [{ batch: 'w' }] } },
      {
        request: { action: 'export', batch: 'w', output_file: 'out.csv', filter_status: ['completed'] },
        data: { format: 'csv', tasks: 1 },
      },
      {
        request: { action: 'clear', batch: 'w', filter_status: ['cancelled'] },
        data: { cleared: 1, counts: { completed: 1 } },
      },
      { request: { action: 'clear', batch: 'w' }, data: { cleared: 1 } },
      { request: { action: 'clear', batch: 'w' }, data: { cleared: 0 } },
    ],
  },
  {
    name: 'one task is added with all its options',
    steps: [
      {
        request: {
          action: 'add',
          batch: 'w',
          ...READ,
          name: 'Read it',
          priority: 'high',
          max_retries: 2,
          timeout: 5,
          on_dependency_failure: 'run',
        },
        data: { batch: 'w', id: 'a', counts: { open: 1 } },
      },
      {
        request: { action: 'add', batch: 'w', ...FAIL, depends_on: ['a'] },
        data: { id: 'b', counts: { open: 2 } },
      },
      { request: { action: 'add', batch: 'w', ...READ }, code: 'DUPLICATE_ID' },
      {
        request: { action: 'add', batch: 'w', function: 'read_file', priority: 'soon' },
        code: 'UNKNOWN_PRIORITY',
      },
      { request: { action: 'add', batch: 'w', function: 'read_fiel' }, code: 'UNKNOWN_TOOL' },
      {
        request: { action: 'add', batch: 'w', function: 'read_file', params: {} },
        code: 'INVALID_ARGUMENTS',
      },
      {
        request: { action: 'add', batch: 'w', ...FAIL, id: 'c', depends_on: ['nobody'] },
        code: 'UNKNOWN_DEPENDENCY',
      },
      {
        request: { action: 'add', batch: 'w', function: 'read_file', max_retries: -1 },
        code: 'INVALID_REQUEST',
      },
      { request: { action: 'status', batch: 'w', detailed: true }, data: { counts: { open: 2 } } },
    ],
  },
  {
    name: 'what cannot be done is refused, and nothing is changed',
    steps: [
      ADDED,
      ...(['status', 'start', 'results', 'stop', 'retry', 'wait'] as const).map((action) => ({
        request: { action, batch: 'v' },
        code: 'UNKNOWN_BATCH',
      })),
      { request: { action: 'cancel', batch: 'v', all: true }, code: 'UNKNOWN_BATCH' },
      { request: { action: 'export', batch: 'v', output_file: 'v.json' }, code: 'UNKNOWN_BATCH' },
      { request: { action: 'start', batch: 'w', max_concurrent: 0 }, code: 'INVALID_REQUEST' },
      { request: { action: 'start', batch: 'w', timeout: -1 }, code: 'INVALID_REQUEST' },
      { request: { action: 'results', batch: 'w', format: 'pretty' }, code: 'INVALID_REQUEST' },
      { request: { action: 'results', batch: 'w', filter_status: ['done'] }, code: 'INVALID_REQUEST' },
      { request: { action: 'results', batch: 'w', id: 'z' }, code: 'UNKNOWN_TASK' },
      { request: { action: 'logs', batch: 'w', id: 'z' }, code: 'UNKNOWN_TASK' },
      { request: { action: 'cancel', batch: 'w', ids: ['z'] }, code: 'UNKNOWN_TASK' },
      { request: { action: 'cancel', batch: 'w', ids: ['a'], all: true }, code: 'INVALID_REQUEST' },
      { request: { action: 'retry', batch: 'w', ids: ['a'] }, code: 'INVALID_REQUEST' },
      { request: { action: 'export', batch: 'w', output_file: '/etc/out.json' }, code: 'PATH_NOT_ALLOWED' },
      { request: { action: 'clear', batch: 'w', filter_status: ['done'] }, code: 'INVALID_REQUEST' },
      { request: { action: 'status', batch: 'w' }, data: { state: 'idle', counts: { open: 2 } } },
    ],
  },
];
