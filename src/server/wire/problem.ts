import { z } from '@hono/zod-openapi';

/** `application/problem+json` (RFC 9457) with Volley's own code. */
export const PROBLEM = z
  .object({
    type: z.string().describe('urn:volley:error: and the code.'),
    title: z.string().describe('What the code means.'),
    status: z.int(),
    detail: z.string().describe('What is wrong and what to do.'),
    code: z.string().describe('One of docs/errors.md.'),
    /** Further facts of the error, such as `nearest`. */
    facts: z.record(z.string(), z.unknown()).optional(),
    errors: z
      .array(
        z.object({
          in: z.enum(['body', 'query', 'path']),
          pointer: z.string().describe('A JSON pointer to the field.'),
          detail: z.string(),
        }),
      )
      .optional()
      .describe('Every field that is wrong, the first 20.'),
  })
  .openapi('Problem');

export type ProblemBody = z.output<typeof PROBLEM>;
