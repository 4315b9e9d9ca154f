import { z } from 'zod';
import { MAX_SPAN_MS } from '../../core/numbers.ts';
import { type ByConfigKey, RESOURCE_TABLE } from '../../core/resource-table.ts';
import { DEFAULTS } from '../defaults.ts';
import { realNumber, table, wholeNumber } from './kinds.ts';

const defaults = DEFAULTS.limits;

const rate = table(
  'How often calls may start: at most `count` in any span of `per_ms` milliseconds. Both keys are needed. For example `rate = { count = 10, per_ms = 1000 }`.',
  {
    count: z.number().int().min(1).max(1_000_000).meta({ description: 'How many starts the span may hold.' }),
    per_ms: z.number().int().min(1).max(MAX_SPAN_MS).meta({ description: 'The length of the span.' }),
  },
);

const sharedLimits = (of: string) =>
  table(`Limits of one ${of}, by its name.`, {
    max_concurrency: z
      .number()
      .int()
      .min(1)
      .max(1_000_000)
      .optional()
      .meta({ description: `How many calls of this ${of} may run at once.`, defaultText: 'no limit' }),
    rate: rate.optional(),
  });

const toolName = z
  .string()
  .regex(/^[A-Za-z_][\w.-]{0,127}$/)
  .meta({ description: '1 to 128 letters, digits, "_", "-" or ".", the first a letter or "_"' });
const groupName = z.string().min(1).max(256).meta({ description: '1 to 256 characters' });

const MACHINE_HAS = { cores: 'the number of cores of this machine', memory: 'the memory of this machine' };

const resourceLimits = Object.fromEntries(
  RESOURCE_TABLE.map(({ configKey, limits, limitHelp, defaultLimit }) => [
    configKey,
    (limits.whole ? wholeNumber : realNumber)({
      does: limitHelp,
      default: defaults[configKey],
      ...(typeof defaultLimit === 'string' && { defaultText: MACHINE_HAS[defaultLimit] }),
      min: limits.min,
      max: limits.max,
    }),
  ]),
) as Record<keyof ByConfigKey, ReturnType<typeof realNumber>>;

export const limitsSection = table(
  'How much may run at once. These keys are applied while Volley runs: what runs keeps its room, what waits is looked at again.',
  {
    max_concurrency: wholeNumber({
      does: 'How many calls may run at once, of all tools together.',
      default: defaults.max_concurrency,
      min: 1,
      max: 1_000_000,
    }),
    ...resourceLimits,
    tools: z.record(toolName, sharedLimits('tool')).default({}),
    groups: z.record(groupName, sharedLimits('group')).default({}),
  },
);
