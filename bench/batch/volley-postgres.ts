import { openStore } from '../../dist/index.js';
import { startPostgres } from '../../scripts/start-postgres.ts';
import { volleyOn } from './volley-contestant.ts';

/** On the same server as pg-boss: with its default settings, each commit reaches the disk. */
export const contestant = volleyOn(async () => {
  const { address, remove } = await startPostgres();
  return { store: await openStore(address), close: remove };
});
