import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

interface Link {
  readonly client: Socket;
  readonly upstream: Socket;
  /** Silent links pass nothing any more, but stay open. */
  isSilent: boolean;
}

/** A network between one process and a server on this machine, that can be interrupted in several ways. */
export class FaultyNetwork {
  private readonly links = new Set<Link>();
  private isCut = false;
  private isHeld = false;
  private delayMs = 0;

  private constructor(
    private readonly server: Server,
    private readonly target: { readonly port: number; readonly host: string } | { readonly path: string },
  ) {
    server.on('connection', (client) => this.accept(client));
  }

  /** Before the address of a server on this machine, or before its socket file. */
  static async before(place: string): Promise<FaultyNetwork> {
    const server = createServer();
    const target = place.startsWith('/')
      ? { path: place }
      : { port: Number(new URL(place).port), host: '127.0.0.1' };
    const network = new FaultyNetwork(server, target);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return network;
  }

  /** The address of the server through this network. */
  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  get port(): number {
    return (this.server.address() as { port: number }).port;
  }

  /** How many connections are open. */
  get size(): number {
    return this.links.size;
  }

  /** Closes all connections. New ones work. */
  interrupt(): void {
    for (const link of this.links) close(link);
  }

  /** Closes all connections, and new ones too. */
  cut(): void {
    this.isCut = true;
    this.interrupt();
  }

  /** Loses everything on the connections that are open now, without closing them. New ones work. */
  silence(): void {
    for (const link of this.links) link.isSilent = true;
  }

  /** Keeps everything that is sent until `heal`, on old and new connections. */
  hold(): void {
    this.isHeld = true;
    for (const link of this.links) this.flow(link);
  }

  /** Delays everything. */
  slow(delayMs: number): void {
    this.delayMs = delayMs;
  }

  heal(): void {
    this.isCut = false;
    this.isHeld = false;
    this.delayMs = 0;
    for (const link of this.links) this.flow(link);
  }

  async close(): Promise<void> {
    this.heal();
    this.interrupt();
    this.server.close();
    await once(this.server, 'close');
  }

  private accept(client: Socket): void {
    client.on('error', () => {});
    if (this.isCut) {
      client.destroy();
      return;
    }
    const upstream = connect(this.target);
    upstream.on('error', () => {});
    const link: Link = { client, upstream, isSilent: false };
    this.links.add(link);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('data', (chunk) => {
        if (link.isSilent) return;
        if (this.delayMs > 0) setTimeout(() => to.write(chunk), this.delayMs);
        else to.write(chunk);
      });
      from.on('close', () => {
        to.destroy();
        this.links.delete(link);
      });
    }
    this.flow(link);
  }

  private flow({ client, upstream }: Link): void {
    for (const socket of [client, upstream]) {
      if (this.isHeld) socket.pause();
      else socket.resume();
    }
  }
}

function close({ client, upstream }: Link): void {
  client.destroy();
  upstream.destroy();
}
