/** An event as it goes over the wire. JSON has no line breaks of its own, so the data is one line. */
export function frameOf(type: string, body: unknown, id?: string): string {
  const name = id === undefined ? '' : `id: ${id}\n`;
  return `${name}event: ${type}\ndata: ${JSON.stringify(body)}\n\n`;
}

/** The id of an event that comes from the feed of the store and has no number here. */
export function feedId(place: string): string {
  return `@${place}`;
}

/** The place in the feed of the store that an id names, whichever server gave it. */
export function feedPlaceIn(id: string): string | undefined {
  const at = id.indexOf('@');
  return at < 0 ? undefined : id.slice(at + 1);
}

/**
 * The last events by their numbers, from 1, in a ring of parallel arrays. Each is serialized at most once, when the first
 * stream needs it, together with those of the same turn: streams share the bytes.
 */
export class FrameLog {
  /** The number of the newest one; 0 before the first. */
  last = 0;
  private readonly batches: string[];
  private readonly types: string[];
  /** Until they are serialized. */
  private readonly bodies: unknown[];
  /** The bytes in which an event is, and where. */
  private readonly pieces: (Buffer | undefined)[];
  /** The place in the feed of the store after each event. Empty without a feed. */
  private readonly places: string[];
  private place = '';
  /** Nothing up to this number is here any more. */
  private forgotten = 0;
  private readonly starts: Uint32Array;
  private readonly ends: Uint32Array;

  constructor(
    private readonly boot: string,
    private readonly capacity: number,
  ) {
    this.batches = new Array(capacity).fill('');
    this.types = new Array(capacity).fill('');
    this.bodies = new Array(capacity).fill(undefined);
    this.pieces = new Array(capacity).fill(undefined);
    this.places = new Array(capacity).fill('');
    this.starts = new Uint32Array(capacity);
    this.ends = new Uint32Array(capacity);
  }

  /** The number of the oldest that is left. */
  get oldest(): number {
    return Math.max(this.forgotten + 1, this.last - this.capacity + 1);
  }

  /** Whether everything after a number is still here. */
  reachesBackTo(number: number): boolean {
    return number >= this.oldest - 1 && number <= this.last;
  }

  append(type: string, batch: string, body: unknown): void {
    const slot = ++this.last % this.capacity;
    this.batches[slot] = batch;
    this.types[slot] = type;
    this.bodies[slot] = body;
    this.pieces[slot] = undefined;
    this.places[slot] = this.place;
  }

  /** The events that follow come right after this place of the feed. */
  moveTo(place: string): void {
    this.place = place;
  }

  /** All that comes before this place of the feed is here, or was. */
  reached(place: string): void {
    this.place = place;
    this.places[this.last % this.capacity] = place;
  }

  /** Forgets all events: others that belong between them and the next ones will never come. They count as one. */
  forget(): void {
    this.forgotten = ++this.last;
  }

  idOf(number: number): string {
    const place = this.places[number % this.capacity]!;
    return place === '' ? `${this.boot}-${number}` : `${this.boot}-${number}@${place}`;
  }

  /** The number in an id that this process has given; undefined for any other text. */
  numberOf(id: string): number | undefined {
    if (!id.startsWith(`${this.boot}-`)) return undefined;
    const [digits = ''] = id.slice(this.boot.length + 1).split('@', 1);
    const number = /^\d{1,15}$/.test(digits) ? Number(digits) : Number.POSITIVE_INFINITY;
    return number <= this.last ? number : undefined;
  }

  batchOf(number: number): string {
    return this.batches[number % this.capacity]!;
  }

  /** One event. */
  bytesOf(number: number): Buffer {
    const slot = number % this.capacity;
    if (this.pieces[slot] === undefined) this.serialize(number - 1, number);
    return this.pieces[slot]!.subarray(this.starts[slot]!, this.ends[slot]!);
  }

  /** Serializes everything after `from` up to `to`, which nobody has read yet, as one piece that all share. */
  serialize(from: number, to: number): Buffer {
    const { capacity, types, bodies, starts, ends, pieces } = this;
    let text = '';
    for (let number = from + 1, slot = number % capacity; number <= to; number++) {
      starts[slot] = text.length;
      text += frameOf(types[slot]!, bodies[slot], this.idOf(number));
      ends[slot] = text.length;
      bodies[slot] = undefined;
      slot = slot + 1 === capacity ? 0 : slot + 1;
    }
    const bytes = Buffer.from(text);
    if (bytes.length !== text.length) this.countInBytes(from, to, text);
    for (let number = from + 1; number <= to; number++) pieces[number % capacity] = bytes;
    return bytes;
  }

  /** Everything after `from` up to `to`, of one batch or of all. */
  bytesBetween(from: number, to: number, batch: string | undefined): Buffer {
    const parts: Buffer[] = [];
    for (let number = from + 1; number <= to; number++)
      if (batch === undefined || this.batchOf(number) === batch) parts.push(this.bytesOf(number));
    return Buffer.concat(parts);
  }

  /** There are characters of several bytes: what was counted in characters is counted anew. */
  private countInBytes(from: number, to: number, text: string): void {
    let bytes = 0;
    for (let number = from + 1; number <= to; number++) {
      const slot = number % this.capacity;
      const length = Buffer.byteLength(text.slice(this.starts[slot], this.ends[slot]));
      this.starts[slot] = bytes;
      bytes += length;
      this.ends[slot] = bytes;
    }
  }
}
