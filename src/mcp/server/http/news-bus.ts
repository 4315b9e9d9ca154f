import type { ServerEventBus } from '@modelcontextprotocol/server';
import type { StoreWatch } from '../../../store/store-watch.ts';
import { followChanges } from '../batch-changes.ts';

/** What 2026-era clients listen to over HTTP: the store is looked at only while one of them does. */
export function newsBus(watch: StoreWatch): ServerEventBus {
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
