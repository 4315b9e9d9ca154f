/**
 * The frames between the runner and the process in which a tool runs: four bytes of length, one of kind, and the body.
 * Those of the process come on descriptor 3, so that nothing a tool prints is ever taken for a message.
 */

/** What each side says. The numbers are on the wire. */
export const FRAME = {
  /** To the process: the call, serialised by V8; this side is trusted, so it may carry what JSON cannot. */
  call: 1,
  /** To the process: stop; the body is the reason as a wire error in JSON. */
  abort: 2,
  /** From the process: `[share, step]` in JSON, either of them null. */
  progress: 3,
  /** From the process: the result in JSON, or nothing for undefined. */
  result: 4,
  /** From the process: what the tool threw, as a wire error in JSON. */
  error: 5,
} as const;

/** The first five bytes of every frame. */
export const HEADER_BYTES = 5;

export function encodeFrame(kind: number, body: Uint8Array | string): Buffer {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const frame = Buffer.allocUnsafe(HEADER_BYTES + bytes.length);
  frame.writeUInt32LE(bytes.length, 0);
  frame.writeUInt8(kind, 4);
  frame.set(bytes, HEADER_BYTES);
  return frame;
}

/** Puts frames together again from whatever pieces arrive. */
export class FrameReader {
  private pieces: Buffer[] = [];
  private length = 0;

  constructor(
    private readonly onFrame: (kind: number, body: Buffer) => void,
    /** Asked as soon as the header is known, so that nothing too large is ever kept; false ends the reading. */
    private readonly accepts: (kind: number, bodyBytes: number) => boolean,
  ) {}

  push(chunk: Buffer): void {
    this.pieces.push(chunk);
    this.length += chunk.length;
    while (this.length >= HEADER_BYTES) {
      const first = this.joinedUntil(HEADER_BYTES);
      const bodyBytes = first.readUInt32LE(0);
      const kind = first.readUInt8(4);
      if (!this.accepts(kind, bodyBytes)) {
        this.pieces = [];
        this.length = 0;
        return;
      }
      const end = HEADER_BYTES + bodyBytes;
      if (this.length < end) return;
      const whole = this.joinedUntil(end);
      this.pieces[0] = whole.subarray(end);
      this.length -= end;
      this.onFrame(kind, whole.subarray(HEADER_BYTES, end));
    }
  }

  /** Makes sure that the first piece has at least so many bytes. */
  private joinedUntil(bytes: number): Buffer {
    if (this.pieces[0]!.length < bytes) this.pieces = [Buffer.concat(this.pieces, this.length)];
    return this.pieces[0]!;
  }
}
