import type { ServerEventBus } from '@modelcontextprotocol/server';
import type { BatchNews } from '../batch-news.ts';

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
