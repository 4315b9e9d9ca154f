import { z } from 'zod';
import { bytesText, countText } from '../../core/words.ts';
import { findBatch } from '../context.ts';
import { EXPORT_FORMATS, formatOf } from '../export/formats.ts';
import { writeExport } from '../export/write-export.ts';
import { BATCH, STATUS_FILTER } from '../input/fields.ts';
import { defineAction } from './define-action.ts';

export const exportAction = defineAction({
  name: 'export',
  order: 120,
  summary: 'Write all tasks with their results to a file',
  scope: 'run',
  hints: {},
  schema: z.strictObject({
    batch: BATCH,
    format: z
      .enum(['json', 'csv', 'jsonl', 'markdown'])
      .optional()
      .describe('Default: by the ending of the file name, otherwise json.'),
    output_file: z
      .string()
      .min(1)
      .max(4096)
      .describe('A path inside the allowed roots. An existing file is replaced.'),
    filter_status: STATUS_FILTER.optional().describe('Only tasks with these statuses. Default: all.'),
  }),
  cli: {
    group: 'look',
    summary: 'Write the results of a batch to a file',
    examples: [
      'volley export --format csv --output-file results.csv',
      'volley export --batch audit --output-file audit.md --filter-status failed',
    ],
    options: { output_file: { flags: '--output-file <path>' } },
  },
  run: async ({ batch, output_file: path, filter_status: status, ...given }, context) => {
    const format = given.format ?? formatOf(path);
    await findBatch(context, batch);
    const { store } = context;
    const { roots } = await context.coordinator();
    const written = await writeExport({ store, batch, status, format: EXPORT_FORMATS[format], roots, path });
    return {
      text: `Wrote ${countText(written.tasks, 'task')} (${bytesText(written.bytes)}) as ${format} to ${path}.`,
      data: { batch, output_file: path, format, ...written },
    };
  },
});
