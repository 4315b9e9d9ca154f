import { onTestFinished } from 'vitest';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { isDeep } from '../support/depth.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { PARTS, SHORT_PARTS, storeConformance } from './conformance.ts';
import { newSchema } from './support/postgres.ts';

const address = await sharedPostgres();
/** Each test makes a schema of its own. `npm run drill:postgres` runs them all. */
const isWhole = isDeep || process.env['VOLLEY_DRILL_POSTGRES'] !== undefined;

storeConformance(
  'a store in PostgreSQL',
  {
    newPlace: () => newSchema(address),
    open: async (place = newSchema(address), options = {}) => {
      const store = await openPostgresStore(place, options);
      onTestFinished(() => store.close().catch(() => undefined));
      return store;
    },
    isLocal: false,
  },
  isWhole ? PARTS : SHORT_PARTS,
);
