import { MAX_SPAN_MS } from '../../core/numbers.ts';
import { DEFAULTS } from '../defaults.ts';
import { table, wholeNumber } from './kinds.ts';

const defaults = DEFAULTS.engine;

export const engineSection = table('How waiting, stopping and remembering work.', {
  ageing_ms: wholeNumber({
    does: 'By how much waiting makes up for one step of priority: after this time a `low` call is as urgent as a fresh `normal` one.',
    default: defaults.ageing_ms,
    min: 1,
    max: MAX_SPAN_MS,
  }),
  reserve_after_ms: wholeNumber({
    does: 'After what time of waiting room is kept free for a large call that does not fit, so that small ones cannot pass it for ever.',
    default: defaults.reserve_after_ms,
    min: 0,
    max: MAX_SPAN_MS,
  }),
  grace_ms: wholeNumber({
    does: 'How long a call that was told to stop keeps its room before the room is given to others.',
    default: defaults.grace_ms,
    min: 0,
    max: MAX_SPAN_MS,
  }),
  retain_settled: wholeNumber({
    does: 'How many calls that have ended can still be found by their id.',
    default: defaults.retain_settled,
    min: 0,
    max: 1_000_000_000,
  }),
  event_log_size: wholeNumber({
    does: 'How many progress updates are remembered for slow readers.',
    default: defaults.event_log_size,
    min: 16,
    max: 2 ** 24,
  }),
});
