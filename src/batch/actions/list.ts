import { z } from 'zod';
import { defineAction } from '../context.ts';
import { countsText } from '../counts.ts';
import { holderText } from '../names.ts';
import { linesText } from '../text.ts';

/** The latest are told. */
const MAX_LISTED = 50;

export const listAction = defineAction({
  schema: z.strictObject({}),
  run: async (_, { store, runs }) => {
    const all = await store.batches();
    const batches = all.slice(-MAX_LISTED).map((record) => {
      const { name, counts, createdAt } = record;
      const isHere = runs.current(name) !== undefined;
      const holder = runs.otherHolder(record);
      return {
        batch: name,
        counts,
        created_at: new Date(createdAt).toISOString(),
        state: isHere ? 'running' : holder === undefined ? 'idle' : 'elsewhere',
        ...(holder !== undefined && { holder }),
      };
    });
    const lines = batches.map(({ batch, counts, state, holder }) => {
      const where =
        holder === undefined ? (state === 'running' ? ', running' : '') : `, run by ${holderText(holder)}`;
      return `- "${batch}": ${countsText(counts)}${where}`;
    });
    const more = all.length - batches.length;
    return {
      text: linesText(
        all.length === 0
          ? 'There is no batch yet: add tasks first.'
          : `${all.length} ${all.length === 1 ? 'batch' : 'batches'}:`,
        lines,
        more > 0 ? `and ${more} older ones` : undefined,
      ),
      data: { total: all.length, batches },
    };
  },
});
