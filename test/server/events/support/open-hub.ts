import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { EventHub } from '../../../../src/server/events/event-hub.ts';
import type { HubOptions } from '../../../../src/server/events/hub-options.ts';
import type { StreamRequest } from '../../../../src/server/events/live-events.ts';
import type { TakeSnapshot } from '../../../../src/server/events/snapshots.ts';
import { SseClient } from './sse-client.ts';

export interface HubRig {
  readonly hub: EventHub;
  readonly port: number;
  /** The responses that the hub was given, in their order. */
  readonly responses: ServerResponse[];
  /** A new client, which is gone after the test. */
  connect(path?: string, options?: { lastEventId?: string | undefined }): SseClient;
  /** The snapshot has come, so that what is published now is an event for the client. */
  connected(path?: string, options?: { lastEventId?: string | undefined }): Promise<SseClient>;
  /** Says that the task `id` of a batch has completed. */
  tell(id: string, batch?: string, step?: string): void;
}

export interface HubRigOptions extends HubOptions {
  readonly take?: TakeSnapshot;
  readonly request?: Partial<StreamRequest>;
}

/** A hub behind a plain server: `/` is everything, `/name` a batch. What the hub refuses is answered with 503. */
export async function openHub({ take, request, ...options }: HubRigOptions = {}): Promise<HubRig> {
  const hub = new EventHub(take ?? (async () => ({ batches: [] })), options);
  const responses: ServerResponse[] = [];
  const server = createServer(async (incoming, response) => {
    const batch = decodeURIComponent(incoming.url!.slice(1));
    const lastEventId = incoming.headers['last-event-id'] as string | undefined;
    responses.push(response);
    try {
      await hub.subscribe(
        {
          ...(batch !== '' && { batch }),
          ...(lastEventId !== undefined && { lastEventId }),
          ...request,
        },
        response,
      );
    } catch (error) {
      response.writeHead(503).end((error as { code: string }).code);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const clients: SseClient[] = [];
  onTestFinished(async () => {
    for (const client of clients) client.cut();
    await hub.close('shutdown');
    await new Promise((resolve) => server.close(resolve));
  });
  const connect: HubRig['connect'] = (path, more) => {
    const client = new SseClient(port, path, more);
    clients.push(client);
    return client;
  };
  let seq = 0;
  return {
    hub,
    port,
    responses,
    connect,
    connected: async (path, more) => {
      const client = connect(path, more);
      await client.untilCount(1);
      return client;
    },
    tell: (id, batch = 'default', step) => {
      hub.publish('task', batch, {
        batch,
        id,
        seq: ++seq,
        type: 'completed',
        attempt: 1,
        at: 0,
        ...(step !== undefined && { step }),
      });
    },
  };
}

/** The ids of the tasks in the events of a client. */
export function taskIds({ events }: SseClient): string[] {
  return events.flatMap(({ type, data }) => (type === 'task' ? [(data as { id: string }).id] : []));
}
