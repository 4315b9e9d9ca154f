import { DEFAULTS } from '../defaults.ts';
import { table, wholeNumber } from './kinds.ts';

export const threadsSection = table('Tools with `isolation: "thread"`.', {
  max: wholeNumber({
    does: 'How many threads there are at most. They start when they are needed.',
    default: DEFAULTS.threads.max,
    defaultText: 'the number of cores of this machine',
    min: 1,
    max: 1024,
  }),
});
