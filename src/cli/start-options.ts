import type { Command } from 'commander';
import { CONCURRENCY_ADVICE } from '../batch/executor/description.ts';
import { addHelpNote } from './help.ts';
import { numberOption } from './options.ts';

/** How `run` and `start` run a batch. */
export function startOptions(program: Command): Command {
  program
    .option('--max-concurrent <number>', 'tasks at once, or "auto" (the default)', concurrencyOption)
    .option('--timeout <seconds>', 'for the whole batch', numberOption)
    .option('--fail-fast', 'the first failure cancels the rest')
    .option('--dry-run', 'check everything and show the plan; nothing is added or started')
    .option('--verbose', 'also show what completes')
    .option('--gantt <file>', 'draw what ran when, as SVG')
    .option('--graph <file>', 'draw what waited for what, as .svg, .mmd or .dot')
    .option('--trace <file>', 'write a trace for chrome://tracing or Perfetto');
  return addHelpNote(program, CONCURRENCY_ADVICE);
}

function concurrencyOption(text: string): number | 'auto' {
  return text === 'auto' ? text : numberOption(text);
}
