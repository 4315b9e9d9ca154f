import { z } from 'zod';
import { VolleyError } from '../../core/errors.ts';
import { bytesText, countText } from '../../core/words.ts';
import { findBatch } from '../context.ts';
import { CSV_WITH_BOM, EXPORT_FORMATS, exportFormatOf } from '../export/formats.ts';
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
      .describe('Default: from the file extension, otherwise json.'),
    output_file: z
      .string()
      .min(1)
      .max(4096)
      .describe('A path inside the allowed roots. An existing file is replaced.'),
    filter_status: STATUS_FILTER.optional().describe('Only tasks with these statuses. Default: all.'),
    bom: z
      .boolean()
      .default(false)
      .describe('Begin a CSV file with a byte order mark, which Excel needs for non-ASCII text.'),
  }),
  cli: {
    group: 'look',
    summary: 'Write the results of a batch to a file',
    examples: [
      'volley export --format csv --bom --output-file results.csv',
      'volley export --batch audit --output-file audit.md --filter-status failed',
    ],
    options: { output_file: { flags: '--output-file <path>' } },
  },
  run: async ({ batch, output_file: path, filter_status: status, bom, ...given }, context) => {
    const format = given.format ?? exportFormatOf(path);
    if (bom && format !== 'csv')
      throw new VolleyError('INVALID_REQUEST', `"bom" is for CSV files, but the format is ${format}.`, {
        format,
      });
    await findBatch(context, batch);
    const { store } = context;
    const { roots } = await context.coordinator();
    const written = await writeExport({
      store,
      batch,
      status,
      format: bom ? CSV_WITH_BOM : EXPORT_FORMATS[format],
      roots,
      path,
    });
    return {
      text: `Wrote ${countText(written.tasks, 'task')} (${bytesText(written.bytes)}) as ${format} to ${path}.`,
      data: { batch, output_file: path, format, ...written },
    };
  },
});
