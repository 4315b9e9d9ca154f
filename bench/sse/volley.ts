import { EventHub } from '../../dist/internals.js';

import type { EventServer } from './input.ts';
import { plainServer } from './plain-server.ts';

/** With ids, a log to resume from, bounds for slow readers and heartbeats. */
export async function openServer(): Promise<EventServer> {
  const hub = new EventHub(async () => ({ batches: [] }));
  const server = await plainServer((_, response) => void hub.subscribe({}, response));
  return {
    ...server,
    publish: (event) => hub.publish('task', event.batch, event),
    check: () => {
      const { gaps } = hub.counts();
      if (gaps > 0) throw new Error(`${gaps} clients missed something`);
    },
  };
}
