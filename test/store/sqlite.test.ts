import { storeConformance } from './conformance.ts';
import { newFile, opened } from './support/store.ts';

storeConformance('a store in an SQLite file', { newPlace: newFile, open: opened, isLocal: true });
