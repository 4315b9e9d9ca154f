import {
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type ServerEventBus,
} from '@modelcontextprotocol/server';
import type { StoreWatch } from '../../store/store-watch.ts';
import { batchUri, isBatchUri, resultsUri } from './resources.ts';
import type { OpenBackend } from './tool.ts';

/** So many resources one client can subscribe to. */
const MAX_SUBSCRIPTIONS = 1000;

/** Lets a 2025-era client subscribe to resources until its connection ends. */
export function serveSubscriptions(server: McpServer, open: OpenBackend): void {
  const subscribed = new Set<string>();
  let isClosed = false;
  let stop: (() => void) | undefined;
  server.server.setRequestHandler('resources/subscribe', async ({ params: { uri } }) => {
    if (!isBatchUri(uri)) {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `There is nothing to subscribe to at ${uri.slice(0, 200)}`,
      );
    }
    if (subscribed.size >= MAX_SUBSCRIPTIONS && !subscribed.has(uri)) {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `At most ${MAX_SUBSCRIPTIONS} resources can be subscribed to`,
      );
    }
    subscribed.add(uri);
    const { watch } = await open();
    if (!isClosed) stop ??= sendChanges(server, watch, (one) => subscribed.has(one));
    return {};
  });
  server.server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    subscribed.delete(uri);
    if (subscribed.size === 0) {
      stop?.();
      stop = undefined;
    }
    return {};
  });
  onClose(server, () => {
    isClosed = true;
    stop?.();
  });
}

/**
 * Announces all changes to a 2026-era client over its pipes, from the first time that it listens: which of them it wants is
 * decided on their way out.
 */
export class ListenUpdates {
  private server: McpServer | undefined;
  private watch: StoreWatch | undefined;
  private isAsked = false;
  private stop: (() => void) | undefined;

  constructor(private readonly openBackend: OpenBackend) {}

  /** Opens the backend, whose changes are followed from then on if the client listens. */
  readonly open: OpenBackend = async () => {
    const backend = await this.openBackend();
    this.watch = backend.watch;
    this.follow();
    return backend;
  };

  serve(server: McpServer): void {
    this.server = server;
    onClose(server, () => {
      this.server = undefined;
      this.stop?.();
    });
    this.follow();
  }

  /** The client listens. */
  asked(): void {
    if (this.isAsked) return;
    this.isAsked = true;
    // If opening fails, the next call retries and reports why.
    this.open().catch(() => undefined);
  }

  private follow(): void {
    const { server, watch, isAsked } = this;
    if (server === undefined || watch === undefined || !isAsked) return;
    this.stop ??= sendChanges(server, watch, () => true);
  }
}

function sendChanges(server: McpServer, watch: StoreWatch, isWanted: (uri: string) => boolean): () => void {
  return followChanges(watch, {
    changed: (uri) => {
      // A client that is gone ends its connection, and that ends this.
      if (isWanted(uri)) server.server.sendResourceUpdated({ uri }).catch(() => undefined);
    },
    listChanged: () => server.sendResourceListChanged(),
  });
}

function onClose(server: McpServer, work: () => void): void {
  const before = server.server.onclose;
  server.server.onclose = () => {
    before?.();
    work();
  };
}

/** What 2026-era clients listen to over HTTP: the store is looked at only while one of them does. */
export function changeBus(watch: StoreWatch): ServerEventBus {
  return {
    // Nothing but batches changes, and that is found in the store.
    publish: () => undefined,
    subscribe: (listener) =>
      followChanges(watch, {
        changed: (uri) => listener({ kind: 'resource_updated', uri }),
        listChanged: () => listener({ kind: 'resources_list_changed' }),
      }),
  };
}

interface ChangeReader {
  /** The resource has changed. */
  changed(uri: string): void;
  /** Batches were added or removed. */
  listChanged(): void;
}

/** Reports batches that change from now on, in whichever process, each at most twice a second. Returns how to stop. */
function followChanges(watch: StoreWatch, reader: ChangeReader): () => void {
  // First: changes before this subscription are not for this reader.
  const stop = watch.start();
  let isListDue = false;
  const listChanged = () => {
    if (isListDue) return;
    // One look may find many that came or went: that is one change of the list.
    isListDue = true;
    queueMicrotask(() => {
      isListDue = false;
      reader.listChanged();
    });
  };
  const changed = (batch: string, isListChanged: boolean) => {
    reader.changed(batchUri(batch));
    reader.changed(resultsUri(batch));
    if (isListChanged) listChanged();
  };
  let unlisten: (() => void) | undefined;
  let isOver = false;
  void watch.ready().then(() => {
    if (!isOver) unlisten = watch.listen({ changed, gone: (batch) => changed(batch, true) });
  });
  return () => {
    isOver = true;
    unlisten?.();
    stop();
  };
}
