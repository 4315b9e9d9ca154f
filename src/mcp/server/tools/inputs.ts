import { z } from 'zod';
import { BATCH } from '../../../batch/input/fields.ts';
import { TASK_STATUSES } from '../../../store/records.ts';
import { MAX_WAIT_SECONDS } from '../limits.ts';

/** Fields that several tools have. */

export const BATCH_NAME = BATCH.unwrap();

export const WAIT_SECONDS = z.number().min(0).max(MAX_WAIT_SECONDS);

export const MAX_CHARS = z
  .number()
  .int()
  .min(1000)
  .max(1_000_000)
  .default(40_000)
  .describe('Characters of results to show in all; longer ones are cut. Default 40000.');

export const STATUSES = z
  .array(z.enum(TASK_STATUSES))
  .min(1)
  .optional()
  .describe('Only tasks of these statuses. Default: all that ended.');

export const COUNTS = z.record(z.string(), z.number());
