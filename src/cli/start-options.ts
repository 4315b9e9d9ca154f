import type { Command } from 'commander';
import { startAction } from '../batch/actions/start.ts';
import { CONCURRENCY_ADVICE } from '../batch/executor/description.ts';
import { fieldOptions } from './action-command.ts';
import { addHelpNote } from './help.ts';

/** How `run` and `start` run a batch. */
export function startOptions(program: Command): Command {
  fieldOptions(program, startAction, ['max_concurrent', 'timeout', 'fail_fast'])
    .option('--dry-run', 'check everything and show the plan; nothing is added or started')
    .option('--verbose', 'also show what completes')
    .option('--gantt <file>', 'draw what ran when, as SVG')
    .option('--graph <file>', 'draw what waited for what, as .svg, .mmd or .dot')
    .option('--trace <file>', 'write a trace for chrome://tracing or Perfetto');
  return addHelpNote(program, CONCURRENCY_ADVICE);
}
