import { z } from '@hono/zod-openapi';

/** Moments leave the server as milliseconds since 1970: a page can sort and subtract them as they are. */
export const TIME = z.int().describe('Milliseconds since 1970.');

/** What a page of a list ends with. */
export const NEXT_CURSOR = z
  .string()
  .nullable()
  .describe('Pass it as "cursor" for the next page; null at the end.');
