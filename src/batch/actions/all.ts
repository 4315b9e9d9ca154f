import type { Action } from '../context.ts';
import { addAction } from './add.ts';
import { addBatchAction } from './add-batch.ts';
import { cancelAction } from './cancel.ts';
import { clearAction } from './clear.ts';
import { exportAction } from './export.ts';
import { listAction } from './list.ts';
import { resultsAction } from './results.ts';
import { retryAction } from './retry.ts';
import { startAction } from './start.ts';
import { statusAction } from './status.ts';
import { stopAction } from './stop.ts';
import { waitAction } from './wait.ts';

/** What `batch_executor_tool` can be asked for, in the order in which it is told. */
export const ACTIONS: readonly Action[] = [
  addAction,
  addBatchAction,
  startAction,
  statusAction,
  resultsAction,
  exportAction,
  clearAction,
  stopAction,
  cancelAction,
  retryAction,
  waitAction,
  listAction,
];
