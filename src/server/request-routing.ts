import { ACTIONS } from '../batch/actions/all.ts';
import type { BatchAnswer } from '../batch/answer.ts';
import type { BatchExecutor } from '../batch/executor/batch-executor.ts';
import { VolleyError } from '../core/errors.ts';
import type { Store } from '../store/store.ts';
import { runningServers, type ServerRecord } from './server-record.ts';

/** No server is needed for these, unless it is the holder. */
const ASKED_OF_HOLDER: ReadonlySet<unknown> = new Set(
  ACTIONS.filter(({ hints }) => 'askHolder' in hints).map(({ name }) => name),
);
/** The server is gone, hung, stopping, or rejects a body of this size. This process can do the work instead. */
const FALL_BACK = new Set<unknown>(['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 503, 413]);
/** If the connection breaks, the server may have done these, so they are not repeated. */
const NOT_REPEATABLE: ReadonlySet<unknown> = new Set(
  ACTIONS.filter(({ hints }) => 'creates' in hints).map(({ name }) => name),
);

interface Request {
  readonly action?: unknown;
  readonly batch?: unknown;
}

/**
 * Decides where a command's request is handled: in the server that runs the batch; in this process, which asks any other
 * holder through the store; or, if the batch is not running, in any server on this store.
 */
export function routeRequests(
  file: string,
  store: Pick<Store, 'batch'>,
  executor: Pick<BatchExecutor, 'handle'>,
): (request: object) => Promise<BatchAnswer> {
  return async (request: Request) => {
    const server = await chooseServer(file, store, request);
    if (server === undefined) return executor.handle(request);
    const { callServer } = await import('./call-server.ts');
    try {
      return await callServer<BatchAnswer>(server, '/v1/actions', ['action', 'text', 'data'], request);
    } catch (error) {
      const { code, status } = error instanceof VolleyError ? error.details : {};
      if (code === 'ECONNRESET' && NOT_REPEATABLE.has(request.action)) throw connectionLost(server);
      if (FALL_BACK.has(code) || FALL_BACK.has(status)) return executor.handle(request);
      throw error;
    }
  };
}

/** Undefined for this process. */
async function chooseServer(
  file: string,
  store: Pick<Store, 'batch'>,
  { action, batch = 'default' }: Request,
): Promise<ServerRecord | undefined> {
  // Results are in the store, wherever the batch runs.
  if (action === 'results') return undefined;
  const servers = await runningServers(file);
  if (servers.length === 0) return undefined;
  const holder = typeof batch === 'string' ? (await store.batch(batch))?.holder : undefined;
  if (holder === undefined) return servers[0];
  const own = servers.find(({ pid }) => pid === holder.pid);
  return own ?? (ASKED_OF_HOLDER.has(action) ? undefined : servers[0]);
}

function connectionLost({ address, pid }: ServerRecord): VolleyError {
  return new VolleyError(
    'SERVER_UNREACHABLE',
    `The server at ${address} (process ${pid}) closed the connection before it answered. It may have added the tasks. Check with volley status before adding them again.`,
    { address, pid },
  );
}
