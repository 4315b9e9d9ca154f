/**
 * Keeps the first and last part of a stream of unknown length: a command says at the beginning what it does and at the
 * end how it went.
 */
export class OutputCapture {
  totalBytes = 0;
  private readonly head: Buffer[] = [];
  private headRoom: number;
  private tail: Buffer[] = [];
  private tailBytes = 0;
  private readonly tailRoom: number;

  constructor(maxBytes: number) {
    this.headRoom = Math.ceil(maxBytes / 2);
    this.tailRoom = maxBytes - this.headRoom;
  }

  push(chunk: Buffer): void {
    this.totalBytes += chunk.length;
    const first = chunk.subarray(0, this.headRoom);
    // Copies: a chunk may be a small view that would keep a large buffer alive.
    if (first.length > 0) this.head.push(Buffer.from(first));
    this.headRoom -= first.length;
    const rest = chunk.subarray(first.length);
    if (rest.length > 0) this.pushTail(rest);
  }

  get isTruncated(): boolean {
    return this.missingBytes > 0;
  }

  /** The kept parts as text, with a note where something is missing. */
  text(): string {
    if (this.totalBytes === 0) return '';
    if (!this.isTruncated) return Buffer.concat([...this.head, ...this.tail]).toString();
    const head = withoutCutEnd(Buffer.concat(this.head)).toString();
    const tail = withoutCutStart(this.keptTail()).toString();
    return `${head}\n[… ${this.missingBytes} bytes left out …]\n${tail}`;
  }

  private get missingBytes(): number {
    return Math.max(0, this.tailBytes - this.tailRoom) + this.droppedBytes;
  }

  /** Drops whole chunks that are in neither part. */
  private droppedBytes = 0;

  private pushTail(chunk: Buffer): void {
    const kept = chunk.subarray(Math.max(0, chunk.length - this.tailRoom));
    this.droppedBytes += chunk.length - kept.length;
    this.tail.push(Buffer.from(kept));
    this.tailBytes += kept.length;
    // Not at every chunk: shifting one byte at a time would cost more than it saves.
    if (this.tailBytes <= 2 * this.tailRoom) return;
    const tail = this.keptTail();
    this.droppedBytes += this.tailBytes - tail.length;
    this.tail = [Buffer.from(tail)];
    this.tailBytes = tail.length;
  }

  private keptTail(): Buffer {
    const tail = Buffer.concat(this.tail);
    return tail.subarray(Math.max(0, tail.length - this.tailRoom));
  }
}

/** Without a UTF-8 sequence truncated at the end. */
function withoutCutEnd(bytes: Buffer): Buffer {
  let start = bytes.length - 1;
  while (start > bytes.length - 4 && start > 0 && isContinuation(bytes[start]!)) start--;
  const lead = bytes[start];
  if (lead === undefined || lead < 0xc0) return bytes;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  return bytes.length - start < length ? bytes.subarray(0, start) : bytes;
}

/** Without a UTF-8 sequence truncated at the start. */
function withoutCutStart(bytes: Buffer): Buffer {
  let start = 0;
  while (start < 3 && start < bytes.length && isContinuation(bytes[start]!)) start++;
  return bytes.subarray(start);
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}
