import { z } from 'zod';
import { PATH } from '../../tools/builtin/input-fields.ts';
import type { JsonSchema } from '../../tools/schema.ts';
import type { Accepted } from './answer.ts';
import { schemaProblem } from './answer.ts';

const MAX_PROMPT_LENGTH = 1_000_000;

/** The arguments that `ask_agent` and `ask_model` share. */
export const ASK_FIELDS = {
  prompt: z.string().min(1).max(MAX_PROMPT_LENGTH).describe('What to ask.'),
  files: z
    .array(PATH)
    .max(100)
    .default([])
    .describe('Files that the prompt is about. An answer is cached until one of them changes.'),
  schema: z
    .record(z.string(), z.unknown())
    .superRefine((schema, context) => {
      const problem = schemaProblem(schema as JsonSchema);
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    })
    .optional()
    .describe('A JSON Schema that the answer must match. Without one, the answer is text.'),
  max_asks: z
    .int()
    .min(1)
    .max(10)
    .default(3)
    .describe('How many times to ask for a valid answer. Each repeat says what was wrong.'),
};

const USAGE = z.object({
  input_tokens: z.number(),
  output_tokens: z.number(),
  cost_usd: z.number().exactOptional(),
});

/** The result that they share. */
export const ANSWER_FIELDS = {
  answer: z.unknown().describe('The answer: data if there is a schema, otherwise text.'),
  asks: z.number().describe('How many times it was asked.'),
  usage: USAGE,
};

export function answerFields({ answer, asks, spending: { inputTokens, outputTokens, costUsd } }: Accepted) {
  return {
    answer,
    asks,
    usage: {
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      ...(costUsd !== undefined && { cost_usd: Number(costUsd.toFixed(6)) }),
    },
  };
}
