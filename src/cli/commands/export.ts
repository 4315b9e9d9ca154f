import { type CommonOptions, defineCommand } from '../program/command.ts';
import { BATCH_OPTION, listOption } from '../program/options.ts';
import { askOfBatch } from '../session/ask.ts';

interface ExportOptions extends CommonOptions {
  readonly batch?: string;
  readonly format?: string;
  readonly outputFile: string;
  readonly filterStatus?: readonly string[];
}

export const exportCommand = defineCommand<ExportOptions>({
  examples: [
    'volley export --format csv --output-file results.csv',
    'volley export --batch audit --output-file audit.md --filter-status failed',
  ],
  declare: (program) =>
    program
      .requiredOption('--output-file <path>', 'inside the roots')
      .option('--format <format>', 'json, csv, jsonl or markdown (default: by the ending of the file)')
      .option('--filter-status <statuses>', 'only these, with commas', listOption)
      .option(...BATCH_OPTION),
  run: (_, { batch, format, outputFile, filterStatus, ...options }, io) =>
    askOfBatch(
      { action: 'export', batch, format, output_file: outputFile, filter_status: filterStatus },
      options,
      io,
    ),
});
