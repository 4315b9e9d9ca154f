import { createRoute, z } from '@hono/zod-openapi';
import { type Api, answers, REFUSALS, secured } from './api.ts';

/** The description of the API. It is made when somebody asks for it, and kept. */
export function documentRoute(api: Api, make: () => object): void {
  let text: string | undefined;
  api.openapi(
    createRoute({
      ...secured('read'),
      operationId: 'getOpenApi',
      method: 'get',
      path: '/openapi.json',
      tags: ['system'],
      summary: 'This description',
      responses: { 200: answers(z.record(z.string(), z.unknown()), 'OpenAPI 3.1.'), ...REFUSALS },
    }),
    (context) => {
      text ??= JSON.stringify(make());
      return context.body(text, 200, { 'Content-Type': 'application/json' }) as never;
    },
  );
}
