// Generated from the definitions in this folder by `npx tsx scripts/generate-actions.ts`: do not edit.

import { addAction } from './add.ts';
import { addBatchAction } from './add-batch.ts';
import { cancelAction } from './cancel.ts';
import { clearAction } from './clear.ts';
import { exportAction } from './export.ts';
import { listAction } from './list.ts';
import { logsAction } from './logs.ts';
import { resultsAction } from './results.ts';
import { retryAction } from './retry.ts';
import { startAction } from './start.ts';
import { statusAction } from './status.ts';
import { stopAction } from './stop.ts';
import { waitAction } from './wait.ts';

/** All definitions, loaded at once. Commands use the lazy list in all.ts instead. */
export const DEFINITIONS = [
  addAction,
  addBatchAction,
  startAction,
  retryAction,
  stopAction,
  cancelAction,
  clearAction,
  statusAction,
  waitAction,
  listAction,
  resultsAction,
  logsAction,
  exportAction,
] as const;
