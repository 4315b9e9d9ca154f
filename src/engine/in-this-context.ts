import { AsyncResource } from 'node:async_hooks';

/** The function, to be called in the async context of now: with what an `AsyncLocalStorage` holds here. */
export function inThisContext<A, R>(run: (argument: A) => R): (argument: A) => R {
  const context = new AsyncResource('volley');
  return (argument) => context.runInAsyncScope(run, undefined, argument);
}
