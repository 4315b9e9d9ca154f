import type { HttpBindings } from '@hono/node-server';
import { OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';
import type { Scope } from '../../batch/actions/define-action.ts';
import { BATCH, TASK_ID } from '../../batch/input/fields.ts';
import { requireScope } from '../auth/principal.ts';
import { PROBLEM, PROBLEM_TYPE, sendSchemaProblem } from '../http/problem.ts';
import { contextOf, type RequestContext } from '../http/request-log.ts';

export type ApiEnv = { Bindings: HttpBindings };
export type Api = OpenAPIHono<ApiEnv>;
export type ApiContext = Context<ApiEnv>;

export function createApi(): Api {
  return new OpenAPIHono<ApiEnv>({
    defaultHook: (result, context) => {
      if (!result.success) return sendSchemaProblem({ data: undefined, ...result }, context);
    },
  });
}

/** The security section of every described route. */
export function secured(scope: Scope, ...more: readonly MiddlewareHandler<ApiEnv>[]) {
  return {
    middleware: [requires(scope), ...more],
    security: [{ bearer: [] }, { session: [] }] as { [name: string]: string[] }[],
  };
}

/** Requires a scope. */
function requires(scope: Scope): MiddlewareHandler<ApiEnv> {
  return async (context, next) => {
    const request = requestOf(context);
    request.route = routePath(context);
    requireScope(request.principal, scope);
    await next();
  };
}

/** Records the route of a request, for public routes. */
export const open: MiddlewareHandler<ApiEnv> = async (context, next) => {
  requestOf(context).route = routePath(context);
  await next();
};

export function requestOf(context: ApiContext): RequestContext {
  return contextOf(context.env.incoming);
}

/** The response for errors. */
export const REFUSALS = {
  default: { description: 'The error.', content: { [PROBLEM_TYPE]: { schema: PROBLEM } } },
} as const;

export function answers<S extends z.ZodType>(schema: S, description: string) {
  return { description, content: { 'application/json': { schema } } };
}

export function takes<S extends z.ZodType>(schema: S) {
  return { required: true, content: { 'application/json': { schema } } };
}

export function mayTake<S extends z.ZodType>(schema: S) {
  return { required: false, content: { 'application/json': { schema } } };
}

export const BATCH_PATH = z.object({ batch: BATCH.unwrap() });

export const TASK_PATH = z.object({ batch: BATCH.unwrap(), id: TASK_ID });

/** A whole number in an address. Not for each server anew: what it is described with is kept for ever. */
export function integerIn(min: number, max: number) {
  return z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .openapi({ type: 'integer', minimum: min, maximum: max });
}

export const LIMIT = integerIn(1, 1000).optional();
