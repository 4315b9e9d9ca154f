import type { ServerResponse } from 'node:http';
import { VolleyError } from '../../core/errors.ts';

/** Counts the streams that each client holds open. */
export class ClientStreams {
  private readonly open = new Map<string, number>();

  constructor(private readonly most: number) {}

  /** Takes a place for as long as the response is open; throws where the client has too many. */
  take(clients: readonly string[], response: ServerResponse): void {
    for (const client of clients) {
      if ((this.open.get(client) ?? 0) < this.most) continue;
      throw new VolleyError(
        'TOO_MANY_STREAMS',
        `There are ${this.most} streams of this client already: close some, or raise server.limits.streams.`,
        { limit: this.most },
      );
    }
    for (const client of clients) this.open.set(client, (this.open.get(client) ?? 0) + 1);
    response.once('close', () => {
      for (const client of clients) this.giveBack(client);
    });
  }

  private giveBack(client: string): void {
    const left = this.open.get(client)! - 1;
    if (left === 0) this.open.delete(client);
    else this.open.set(client, left);
  }
}
