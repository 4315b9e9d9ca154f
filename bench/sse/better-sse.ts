import { createChannel, createSession } from 'better-sse';
import type { EventServer } from './input.ts';
import { plainServer } from './plain-server.ts';

export async function openServer(): Promise<EventServer> {
  const channel = createChannel();
  const server = await plainServer((request, response) => {
    void createSession(request, response).then((session) => {
      channel.register(session);
      // The client counts as connected with the first byte.
      session.push('hello');
    });
  });
  return {
    ...server,
    publish: (event) => {
      channel.broadcast(event, 'task', { eventId: String(event.seq) });
    },
    check: () => undefined,
  };
}
