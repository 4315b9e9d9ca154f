import type { ServerResponse } from 'node:http';
import { VolleyError } from '../../core/errors.ts';

/** The streams that each client holds open. */
export class ClientStreams {
  private readonly open = new Map<string, Set<ServerResponse>>();

  constructor(private readonly most: number) {}

  /** Takes a place for as long as the response is open; throws where the client has too many. */
  take(clients: readonly string[], response: ServerResponse): void {
    for (const client of clients) {
      if ((this.open.get(client)?.size ?? 0) < this.most) continue;
      throw new VolleyError(
        'TOO_MANY_STREAMS',
        `There are ${this.most} streams of this client already: close some, or raise server.limits.streams.`,
        { limit: this.most },
      );
    }
    for (const client of clients) {
      const streams = this.open.get(client) ?? new Set();
      this.open.set(client, streams.add(response));
    }
    response.once('close', () => {
      for (const client of clients) this.giveBack(client, response);
    });
  }

  /** Cuts all streams of a client that may not read any more. */
  cut(client: string): void {
    for (const response of this.open.get(client) ?? []) response.destroy();
  }

  private giveBack(client: string, response: ServerResponse): void {
    const streams = this.open.get(client);
    streams?.delete(response);
    if (streams?.size === 0) this.open.delete(client);
  }
}
