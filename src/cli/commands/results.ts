import { type CommonOptions, defineCommand } from '../program/command.ts';
import { BATCH_OPTION, listOption, numberOption } from '../program/options.ts';
import { askOfBatch, given } from '../session/ask.ts';

interface ResultsOptions extends CommonOptions {
  readonly batch?: string;
  readonly format?: string;
  readonly filterStatus?: readonly string[];
  readonly limit?: number;
  readonly after?: number;
  readonly id?: string;
  readonly offset?: number;
  readonly length?: number;
  readonly raw?: boolean;
}

export const resultsCommand = defineCommand<ResultsOptions>({
  examples: [
    'volley results --format summary',
    'volley results --format detailed --filter-status failed',
    'volley results --id analyze-3',
    'volley results --id analyze-3 --offset 65536',
  ],
  declare: (program) =>
    program
      .option(...BATCH_OPTION)
      .option('--format <format>', 'summary, detailed or json')
      .option('--filter-status <statuses>', 'only these, with commas', listOption)
      .option('--limit <number>', 'how many at once', numberOption)
      .option('--after <number>', 'go on behind this one', numberOption)
      .option('--id <id>', 'one result')
      .option('--offset <bytes>', 'of that result, from here', numberOption)
      .option('--length <bytes>', 'of that result, so much', numberOption)
      .option('--raw', 'print text unchanged, including control characters'),
  run: (_, { batch, format, filterStatus, limit, after, id, offset, length, raw, ...options }, io) =>
    askOfBatch(
      {
        action: 'results',
        batch,
        format,
        filter_status: filterStatus,
        limit,
        cursor: after,
        id,
        range: offset === undefined && length === undefined ? undefined : given({ offset, length }),
      },
      { ...options, textIs: raw ? 'raw' : format === 'json' && id === undefined ? 'json' : undefined },
      io,
    ),
});
