import { createConnection, type Socket } from 'node:net';

export interface ReceivedEvent {
  readonly id: string | undefined;
  readonly type: string;
  readonly data: unknown;
}

/** Reads a stream as the standard says, over a bare socket, so that a test decides when it reads and when it is cut. */
export class SseClient {
  readonly events: ReceivedEvent[] = [];
  /** What an EventSource would send when it connects again. */
  lastEventId: string | undefined;
  status = '';
  headers = '';
  comments = 0;
  hasEnded = false;
  readonly socket: Socket;
  private rest = '';
  private isInBody = false;
  private changed: (() => void)[] = [];

  constructor(
    port: number,
    path = '/',
    {
      lastEventId,
      token,
    }: { readonly lastEventId?: string | undefined; readonly token?: string | undefined } = {},
  ) {
    this.lastEventId = lastEventId;
    this.socket = createConnection({ port, host: '127.0.0.1' });
    const header =
      (lastEventId === undefined ? '' : `Last-Event-ID: ${lastEventId}\r\n`) +
      (token === undefined ? '' : `Authorization: Bearer ${token}\r\n`);
    this.socket.write(
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n${header}\r\n`,
    );
    this.socket.setEncoding('utf8');
    this.socket.on('data', (text: string) => this.read(text));
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.hasEnded = true;
      this.tell();
    });
  }

  types(): string[] {
    return this.events.map(({ type }) => type);
  }

  /** Waits until something is so, looking again whenever something has come. */
  async until(isSo: () => boolean, what: string): Promise<void> {
    const deadline = Date.now() + 60_000;
    while (!isSo()) {
      const left = deadline - Date.now();
      if (left <= 0)
        throw new Error(`${what} did not come; there was: ${this.types().slice(-20).join(', ')}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.changed.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  untilCount(count: number): Promise<void> {
    return this.until(() => this.events.length >= count, `event number ${count}`);
  }

  ended(): Promise<void> {
    return this.until(() => this.hasEnded, 'the end');
  }

  /** Breaks the connection. */
  cut(): void {
    this.socket.destroy();
  }

  private read(text: string): void {
    this.rest += text;
    if (!this.isInBody) {
      const end = this.rest.indexOf('\r\n\r\n');
      if (end < 0) return;
      this.headers = this.rest.slice(0, end);
      this.status = this.headers.split(' ')[1]!;
      this.rest = this.rest.slice(end + 4);
      this.isInBody = true;
    }
    const blocks = this.rest.split('\n\n');
    this.rest = blocks.pop()!;
    for (const block of blocks) this.dispatch(block);
    this.tell();
  }

  private dispatch(block: string): void {
    let type = 'message';
    let data = '';
    for (const line of block.split('\n')) {
      if (line.startsWith(':')) this.comments++;
      else if (line.startsWith('id: ')) this.lastEventId = line.slice(4);
      else if (line.startsWith('event: ')) type = line.slice(7);
      else if (line.startsWith('data: ')) data += line.slice(6);
    }
    if (data !== '') this.events.push({ id: this.lastEventId, type, data: JSON.parse(data) });
  }

  private tell(): void {
    const { changed } = this;
    this.changed = [];
    for (const callback of changed) callback();
  }
}
