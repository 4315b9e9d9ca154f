import type { Readable, Writable } from 'node:stream';
import {
  type JSONRPCMessage,
  ProtocolErrorCode,
  parseJSONRPCMessage,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/server';
import { findInexactNumber, inexactNumberError } from '../../core/json-numbers.ts';
import { reasonText } from '../../core/words.ts';

/** Bytes of one message. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
/** Bytes of answers that a client may leave unread before its connection is closed. */
const MAX_UNREAD_BYTES = 128 * 1024 * 1024;
const NEWLINE = 10;
/** How 2026-era clients ask to hear of changes. The SDK answers it without telling us. */
const LISTEN = 'subscriptions/listen';

/**
 * Messages as lines. A line that cannot be read gets an error and nothing else comes of it; one that is too long is
 * passed over without being kept. When either stream ends, so does the connection.
 */
export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Fulfilled when the connection has ended. */
  readonly closed: Promise<void>;
  private settleClosed!: () => void;
  private isClosed = false;
  /** The pieces of the line that has not ended yet. */
  private pieces: Buffer[] = [];
  private bytes = 0;
  private isSkipping = false;
  /** Of what was written and not taken yet. */
  private unread = 0;

  constructor(
    private readonly input: Readable,
    /** Writes as the stream does, and to nothing else. */
    private readonly output: Pick<Writable, 'write'>,
    /** The client wants to hear of changes. */
    private readonly onListen: () => void,
  ) {
    this.closed = new Promise((resolve) => {
      this.settleClosed = resolve;
    });
  }

  async start(): Promise<void> {
    const { input } = this;
    input.on('data', this.read).on('end', this.end).on('close', this.end).on('error', this.end);
    if (input.readableEnded || input.destroyed) this.end();
  }

  send(message: JSONRPCMessage): Promise<void> {
    return this.write(serializeMessage(message));
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    const { input } = this;
    input.off('data', this.read).off('end', this.end).off('close', this.end);
    // Later errors are ignored, but must not end the process.
    input.pause();
    this.pieces = [];
    this.onclose?.();
    this.settleClosed();
  }

  private readonly end = (): void => {
    void this.close();
  };

  private readonly read = (chunk: Buffer): void => {
    let from = 0;
    while (!this.isClosed) {
      const to = chunk.indexOf(NEWLINE, from);
      this.take(chunk.subarray(from, to === -1 ? chunk.length : to));
      if (to === -1) return;
      this.lineEnded();
      from = to + 1;
    }
  };

  private take(piece: Buffer): void {
    if (this.isSkipping) return;
    this.bytes += piece.length;
    if (this.bytes <= MAX_MESSAGE_BYTES) {
      if (piece.length > 0) this.pieces.push(piece);
      return;
    }
    this.isSkipping = true;
    this.pieces = [];
    this.refuse(ProtocolErrorCode.InvalidRequest, `A message may have at most ${MAX_MESSAGE_BYTES} bytes`);
  }

  private lineEnded(): void {
    const line = this.isSkipping ? '' : Buffer.concat(this.pieces).toString('utf8').trim();
    this.pieces = [];
    this.bytes = 0;
    this.isSkipping = false;
    if (line !== '') this.dispatch(line);
  }

  private dispatch(line: string): void {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch (error) {
      this.refuse(ProtocolErrorCode.ParseError, `The message is not valid JSON: ${reasonText(error)}`);
      return;
    }
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(value);
    } catch {
      const { id } = (value ?? {}) as { id?: unknown };
      this.refuse(ProtocolErrorCode.InvalidRequest, 'The message is not a message of JSON-RPC 2.0', id);
      return;
    }
    const inexact = findInexactNumber(line);
    if (inexact !== undefined) {
      const { id } = message as { id?: unknown };
      this.refuse(ProtocolErrorCode.InvalidParams, inexactNumberError(line, inexact).message, id);
      return;
    }
    if ('method' in message && message.method === LISTEN) this.onListen();
    this.onmessage?.(message);
  }

  private refuse(code: number, message: string, id?: unknown): void {
    this.onerror?.(new Error(message));
    const known = typeof id === 'string' || typeof id === 'number' ? id : null;
    const text = JSON.stringify({
      jsonrpc: '2.0',
      id: known,
      error: { code, message: message.slice(0, 500) },
    });
    this.write(`${text}\n`).catch(this.end);
  }

  private write(text: string): Promise<void> {
    if (this.isClosed) return Promise.reject(new Error('The connection has ended'));
    const bytes = Buffer.byteLength(text);
    this.unread += bytes;
    if (this.unread > MAX_UNREAD_BYTES) {
      this.onerror?.(new Error(`The client left ${this.unread} bytes unread`));
      this.end();
    }
    return new Promise((resolve, reject) => {
      this.output.write(text, (error) => {
        this.unread -= bytes;
        if (error) reject(error);
        else resolve();
      });
    });
  }
}
