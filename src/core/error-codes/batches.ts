import type { ErrorTable } from './table.ts';

/** Errors of batches, of the store and of files of tasks. */
export const BATCH_ERRORS = {
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
