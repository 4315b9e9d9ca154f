import { MAX_SPAN_MS } from '../../core/numbers.ts';
import { PRIORITIES } from '../../core/priority.ts';
import { DEFAULTS } from '../defaults.ts';
import { choice, realNumber, table, wholeNumber } from './kinds.ts';

const defaults = DEFAULTS.defaults;

const retry = table('When and how often a failed call is tried again.', {
  max_retries: wholeNumber({
    does: 'How many further attempts may follow the first: 3 means up to 4 attempts.',
    default: defaults.retry.max_retries,
    min: 0,
    max: 1000,
  }),
  delay_ms: wholeNumber({
    does: 'The pause before the first retry.',
    default: defaults.retry.delay_ms,
    min: 0,
    max: MAX_SPAN_MS,
  }),
  factor: realNumber({
    does: 'By how much each pause is longer than the one before.',
    default: defaults.retry.factor,
    min: 1,
    max: 100,
  }),
  max_delay_ms: wholeNumber({
    does: 'The longest pause.',
    default: defaults.retry.max_delay_ms,
    min: 0,
    max: MAX_SPAN_MS,
  }),
  jitter: realNumber({
    does: 'The share of each pause that is random, so that many failures do not come back at once.',
    default: defaults.retry.jitter,
    min: 0,
    max: 1,
  }),
});

export const defaultsSection = table('For calls of which neither the caller nor the tool says otherwise.', {
  priority: choice([...PRIORITIES, 'medium'], {
    does: 'How urgent a call is; `medium` is another word for `normal`.',
    default: defaults.priority,
  }),
  timeout_ms: wholeNumber({
    does: 'How long one attempt of a call may take, from its start.',
    default: defaults.timeout_ms,
    min: 1,
    max: MAX_SPAN_MS,
  }),
  retry: retry.prefault({}),
});
