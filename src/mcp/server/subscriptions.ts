import { type McpServer, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { BatchExecutor } from '../../batch/batch-executor.ts';
import type { OpenBackend } from './backend.ts';
import { followBatches } from './batch-news.ts';
import { batchUri, isBatchUri, resultsUri } from './batch-uris.ts';

/** So many resources one client can subscribe to. */
const MOST_SUBSCRIPTIONS = 1000;

/** Lets a 2025-era client subscribe to resources. It is told until its connection ends. */
export function serveSubscriptions(server: McpServer, open: OpenBackend): void {
  const subscribed = new Set<string>();
  let stop: (() => void) | undefined;
  server.server.setRequestHandler('resources/subscribe', async ({ params: { uri } }) => {
    if (!isBatchUri(uri)) {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `There is nothing to subscribe to at ${uri.slice(0, 200)}`,
      );
    }
    if (subscribed.size >= MOST_SUBSCRIPTIONS && !subscribed.has(uri)) {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `At most ${MOST_SUBSCRIPTIONS} resources can be subscribed to`,
      );
    }
    subscribed.add(uri);
    const { executor } = await open();
    stop ??= tellChanges(server, executor, (one) => subscribed.has(one));
    return {};
  });
  server.server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    subscribed.delete(uri);
    return {};
  });
  onClose(server, () => stop?.());
}

/** Tells all changes, from the opening of the backend on: those of the 2026 revision are chosen from on their way out. */
export function tellAll(server: McpServer, open: OpenBackend): OpenBackend {
  let stop: (() => void) | undefined;
  let isClosed = false;
  onClose(server, () => {
    isClosed = true;
    stop?.();
  });
  return async () => {
    const backend = await open();
    if (!isClosed) stop ??= tellChanges(server, backend.executor, () => true);
    return backend;
  };
}

function tellChanges(
  server: McpServer,
  executor: BatchExecutor,
  isWanted: (uri: string) => boolean,
): () => void {
  return followBatches(executor, {
    changed: (batch) => {
      for (const uri of [batchUri(batch), resultsUri(batch)]) {
        // A client that is gone ends its connection, and that ends this.
        if (isWanted(uri)) server.server.sendResourceUpdated({ uri }).catch(() => undefined);
      }
    },
    added: () => server.sendResourceListChanged(),
  });
}

function onClose(server: McpServer, work: () => void): void {
  const before = server.server.onclose;
  server.server.onclose = () => {
    before?.();
    work();
  };
}
