import { spawn } from 'node:child_process';
import { CONCURRENCY_ADVICE } from '../../batch/description.ts';
import { chosenBatch } from '../ask.ts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../io.ts';
import { BATCH_OPTION, concurrencyOption, numberOption } from '../options.ts';
import { withSession } from '../session.ts';
import { type StartOptions, startBatch } from '../start-batch.ts';

interface StartCommandOptions extends StartOptions {
  readonly batch?: string;
  readonly detach?: boolean;
}

export const startCommand = defineCommand<StartCommandOptions>({
  name: 'start',
  summary: 'run all open tasks of a batch',
  examples: [
    'volley start --max-concurrent 5 --timeout 300',
    'volley start --batch audit --detach && volley watch --batch audit',
  ],
  declare: (program) =>
    program
      .option(...BATCH_OPTION)
      .option('--max-concurrent <number>', 'tasks at once, or "auto" (the default)', concurrencyOption)
      .option('--timeout <seconds>', 'for the whole batch', numberOption)
      .option('--fail-fast', 'the first failure cancels the rest')
      .option('--verbose', 'also show what completes')
      .option('--gantt <file>', 'draw what ran when, as SVG')
      .option('--graph <file>', 'draw what waited for what, as .svg, .mmd or .dot')
      .option('--trace <file>', 'write a trace for chrome://tracing or Perfetto')
      .option('--detach', 'run it in a process of its own that ends with the batch')
      .addHelpText(
        'after',
        `
${CONCURRENCY_ADVICE}
`,
      ),
  run: async (_, { batch: named, detach = false, ...options }, io) => {
    if (!detach) {
      return withSession(options, io, (session) =>
        startBatch(session, chosenBatch(session.store, named), options, io),
      );
    }
    const batch = named ?? 'default';
    const words = process.argv.slice(2).filter((word) => word !== '--detach');
    const child = spawn(process.execPath, [...process.execArgv, process.argv[1]!, ...words], {
      cwd: io.cwd,
      detached: true,
      stdio: 'ignore',
    });
    child.unref();
    const text = `The batch "${batch}" runs in process ${child.pid}. Follow it with: volley watch --batch ${batch}`;
    io.stdout.write(options.json ? `${JSON.stringify({ ok: true, pid: child.pid, batch })}\n` : `${text}\n`);
    return EXIT.ok;
  },
});
