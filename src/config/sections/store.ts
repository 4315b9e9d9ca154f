import { DEFAULTS } from '../defaults.ts';
import { table, text } from './kinds.ts';

export const storeSection = table('Where batches and their results are kept.', {
  file: text({
    does: 'The file, an SQLite database; relative to the folder of `volley.toml`. It is made when the first task is added.',
    default: DEFAULTS.store.file,
  }),
});
