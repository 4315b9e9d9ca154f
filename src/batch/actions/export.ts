import { z } from 'zod';
import { countText } from '../../core/words.ts';
import { defineAction, findBatch } from '../context.ts';
import { csvFormat } from '../export/csv.ts';
import type { ExportFormat } from '../export/format.ts';
import { jsonFormat, jsonLinesFormat } from '../export/json.ts';
import { markdownFormat } from '../export/markdown.ts';
import { writeExport } from '../export/write-export.ts';
import { BATCH, STATUS_FILTER } from '../input/fields.ts';
import { bytesText } from '../text.ts';

const FORMATS = {
  json: jsonFormat,
  csv: csvFormat,
  jsonl: jsonLinesFormat,
  markdown: markdownFormat,
} as const satisfies Record<string, ExportFormat>;

export const exportAction = defineAction({
  name: 'export',
  summary: 'writes all tasks with their results to a file',
  schema: z.strictObject({
    batch: BATCH,
    format: z.enum(['json', 'csv', 'jsonl', 'markdown']).default('json'),
    output_file: z
      .string()
      .min(1)
      .max(4096)
      .describe('A path inside the allowed roots; replaced if it exists.'),
    filter_status: STATUS_FILTER.optional().describe('Only tasks of these statuses. Default: all.'),
  }),
  run: async ({ batch, format, output_file: path, filter_status: status }, context) => {
    findBatch(context, batch);
    const { store, coordinator } = context;
    const { roots } = coordinator.desk;
    const written = await writeExport({ store, batch, status, format: FORMATS[format], roots, path });
    return {
      text: `Wrote ${countText(written.tasks, 'task')} (${bytesText(written.bytes)}) as ${format} to ${path}.`,
      data: { batch, output_file: path, format, ...written },
    };
  },
});
