import {
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type ServerEventBus,
} from '@modelcontextprotocol/server';
import type { Store } from '../../store/store.ts';
import { StoreWatch } from '../../store/store-watch.ts';
import { batchUri, isBatchUri, resultsUri } from './resources.ts';
import type { OpenBackend } from './tool.ts';

interface NewsReader {
  /** What can be read there has changed. */
  changed(uri: string): void;
  /** Batches have come or gone. */
  listChanged(): void;
}

/**
 * Tells of batches that changed, in whichever process, each at most twice a second however much happens. The store is
 * looked at while somebody reads the news, once for all of them, and not otherwise.
 */
export class BatchNews {
  private readonly readers = new Set<NewsReader>();
  private readonly watch: StoreWatch;
  private isTellingList = false;

  constructor(store: Store) {
    this.watch = new StoreWatch(store, {
      isWanted: () => this.readers.size > 0,
      changed: (batch, isNew) => this.tell(batch, isNew),
      gone: (batch) => this.tell(batch, true),
    });
  }

  /** The answer ends it. */
  follow(reader: NewsReader): () => void {
    void this.watch.wake();
    this.readers.add(reader);
    return () => {
      this.readers.delete(reader);
      if (this.readers.size === 0) this.watch.close();
    };
  }

  private tell(batch: string, isListChanged: boolean): void {
    for (const reader of this.readers) {
      reader.changed(batchUri(batch));
      reader.changed(resultsUri(batch));
    }
    if (!isListChanged || this.isTellingList) return;
    // One look may find many that came or went: that is one change of the list.
    this.isTellingList = true;
    queueMicrotask(() => {
      this.isTellingList = false;
      for (const reader of this.readers) reader.listChanged();
    });
  }
}

/** So many resources one client can subscribe to. */
const MAX_SUBSCRIPTIONS = 1000;

/** Lets a 2025-era client subscribe to resources. It is told until its connection ends. */
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
    const { news } = await open();
    if (!isClosed) stop ??= tellChanges(server, news, (one) => subscribed.has(one));
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
 * Tells a 2026-era client over its pipes of all changes, from the first time that it listens: which of them it wants is
 * decided on their way out.
 */
export class ListenUpdates {
  private server: McpServer | undefined;
  private news: BatchNews | undefined;
  private isAsked = false;
  private stop: (() => void) | undefined;

  constructor(private readonly openBackend: OpenBackend) {}

  /** Opens the backend, whose news are followed from then on if the client listens. */
  readonly open: OpenBackend = async () => {
    const backend = await this.openBackend();
    this.news = backend.news;
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
    // What cannot be opened now is tried again with the next call, which tells why.
    this.open().catch(() => undefined);
  }

  private follow(): void {
    const { server, news, isAsked } = this;
    if (server === undefined || news === undefined || !isAsked) return;
    this.stop ??= tellChanges(server, news, () => true);
  }
}

function tellChanges(server: McpServer, news: BatchNews, isWanted: (uri: string) => boolean): () => void {
  return news.follow({
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
export function newsBus(news: BatchNews): ServerEventBus {
  return {
    // Nothing but batches changes, and that is found in the store.
    publish: () => undefined,
    subscribe: (listener) =>
      news.follow({
        changed: (uri) => listener({ kind: 'resource_updated', uri }),
        listChanged: () => listener({ kind: 'resources_list_changed' }),
      }),
  };
}
