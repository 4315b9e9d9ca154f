import { AsyncResource } from 'node:async_hooks';

/** Binds a function to the current async context, so that it sees the current `AsyncLocalStorage` values. */
export function inThisContext<A, R>(run: (argument: A) => R): (argument: A) => R {
  const context = new AsyncResource('volley');
  return (argument) => context.runInAsyncScope(run, undefined, argument);
}
