import { onTestFinished } from 'vitest';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { storeConformance } from './conformance.ts';
import { newSchema } from './support/postgres.ts';

const address = await sharedPostgres();

storeConformance('a store in PostgreSQL', {
  newPlace: () => newSchema(address),
  open: async (place = newSchema(address), options = {}) => {
    const store = await openPostgresStore(place, options);
    onTestFinished(() => store.close().catch(() => undefined));
    return store;
  },
  isLocal: false,
});
