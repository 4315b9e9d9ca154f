import { join } from 'node:path';
import { openStore } from '../../dist/index.js';
import { volleyOn } from './volley-contestant.ts';

export const contestant = volleyOn(async (folder) => ({ store: await openStore(join(folder, 'volley.db')) }));
