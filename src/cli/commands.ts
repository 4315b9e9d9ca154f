import type { CliCommand } from './command.ts';
import { addCommand } from './commands/add.ts';
import { addBatchCommand } from './commands/add-batch.ts';
import { cancelCommand } from './commands/cancel.ts';
import { clearCommand } from './commands/clear.ts';
import { doctorCommand } from './commands/doctor.ts';
import { exportCommand } from './commands/export.ts';
import { initCommand } from './commands/init.ts';
import { listCommand } from './commands/list.ts';
import { recoverCommand } from './commands/recover.ts';
import { resultsCommand } from './commands/results.ts';
import { retryCommand } from './commands/retry.ts';
import { runCommand } from './commands/run.ts';
import { startCommand } from './commands/start.ts';
import { statusCommand } from './commands/status.ts';
import { stopCommand } from './commands/stop.ts';
import { toolsCommand } from './commands/tools.ts';
import { waitCommand } from './commands/wait.ts';
import { watchCommand } from './commands/watch.ts';

/** In the order in which the help lists them. */
export const COMMANDS: readonly CliCommand[] = [
  runCommand,
  addCommand,
  addBatchCommand,
  startCommand,
  statusCommand,
  watchCommand,
  waitCommand,
  resultsCommand,
  exportCommand,
  retryCommand,
  stopCommand,
  cancelCommand,
  clearCommand,
  listCommand,
  recoverCommand,
  toolsCommand,
  doctorCommand,
  initCommand,
];
