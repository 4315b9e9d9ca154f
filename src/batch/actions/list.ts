import { z } from 'zod';
import { countsText } from '../counts.ts';
import { holderText } from '../run/holder-requests.ts';
import { linesText } from '../text.ts';
import { defineAction } from './define-action.ts';

/** Only the latest are listed. */
const MAX_LISTED = 50;

export const listAction = defineAction({
  name: 'list',
  order: 100,
  summary: 'List all batches with their counts',
  scope: 'read',
  hints: { readOnly: true },
  schema: z.strictObject({}),
  cli: { group: 'look', examples: ['volley list', 'volley list --json'] },
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
          ? 'No batches yet. Add tasks first.'
          : `${all.length} ${all.length === 1 ? 'batch' : 'batches'}:`,
        lines,
        more > 0 ? `and ${more} older` : undefined,
      ),
      data: { total: all.length, batches },
    };
  },
});
