import { ACTIONS } from '../batch/actions/all.ts';
import type { BatchAnswer } from '../batch/answer.ts';
import type { BatchExecutor } from '../batch/batch-executor.ts';
import { VolleyError } from '../core/errors.ts';
import { runningServers, type ServerRecord } from '../server/server-record.ts';
import type { Store } from '../store/store.ts';

/** It has just gone, hangs, is stopping, or takes no body of this size: then this process can do it as well. */
const DO_IT_HERE = new Set<unknown>(['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 503, 413]);
/** What a server that went in the middle of it may have done must not be done again. */
const ONCE_ONLY: ReadonlySet<unknown> = new Set(
  ACTIONS.filter(({ hints }) => 'creates' in hints).map(({ name }) => name),
);

/** Does requests in the server that runs on this store, if there is one, and in this process otherwise. */
export function serverDoor(
  file: string,
  store: Pick<Store, 'batch'>,
  executor: Pick<BatchExecutor, 'handle'>,
): (request: object) => Promise<BatchAnswer> {
  return async (request) => {
    const server = await serverFor(file, store, request);
    if (server === undefined) return executor.handle(request);
    const { callServer } = await import('../server/call-server.ts');
    try {
      return await callServer<BatchAnswer>(server, '/v1/actions', ['action', 'text', 'data'], request);
    } catch (error) {
      const { code, status } = error instanceof VolleyError ? error.details : {};
      if (code === 'ECONNRESET' && ONCE_ONLY.has((request as { action?: unknown }).action))
        throw unsure(server);
      if (DO_IT_HERE.has(code) || DO_IT_HERE.has(status)) return executor.handle(request);
      throw error;
    }
  };
}

function unsure({ address, pid }: ServerRecord): VolleyError {
  return new VolleyError(
    'SERVER_UNREACHABLE',
    `The server at ${address} (process ${pid}) went before it answered, and may have added the tasks: look with volley status before you add them again.`,
    { address, pid },
  );
}

/** The one that runs the batch; any other where none does. */
async function serverFor(
  file: string,
  store: Pick<Store, 'batch'>,
  request: object,
): Promise<ServerRecord | undefined> {
  const servers = await runningServers(file);
  if (servers.length === 0) return undefined;
  const { batch = 'default' } = request as { batch?: unknown };
  const holder = typeof batch === 'string' ? (await store.batch(batch))?.holder : undefined;
  return servers.find(({ pid }) => pid === holder?.pid) ?? servers[0];
}
