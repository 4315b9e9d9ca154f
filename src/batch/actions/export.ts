import { z } from 'zod';
import { countText } from '../../core/words.ts';
import { defineAction, findBatch } from '../context.ts';
import { EXPORT_FORMATS, formatOf } from '../export/formats.ts';
import { writeExport } from '../export/write-export.ts';
import { BATCH, STATUS_FILTER } from '../input/fields.ts';
import { bytesText } from '../text.ts';

export const exportAction = defineAction({
  schema: z.strictObject({
    batch: BATCH,
    format: z
      .enum(['json', 'csv', 'jsonl', 'markdown'])
      .optional()
      .describe('Default: what the name of the file ends in, otherwise json.'),
    output_file: z
      .string()
      .min(1)
      .max(4096)
      .describe('A path inside the allowed roots; replaced if it exists.'),
    filter_status: STATUS_FILTER.optional().describe('Only tasks of these statuses. Default: all.'),
  }),
  run: async ({ batch, output_file: path, filter_status: status, ...given }, context) => {
    const format = given.format ?? formatOf(path);
    await findBatch(context, batch);
    const { store } = context;
    const { roots } = (await context.coordinator()).desk;
    const written = await writeExport({ store, batch, status, format: EXPORT_FORMATS[format], roots, path });
    return {
      text: `Wrote ${countText(written.tasks, 'task')} (${bytesText(written.bytes)}) as ${format} to ${path}.`,
      data: { batch, output_file: path, format, ...written },
    };
  },
});
