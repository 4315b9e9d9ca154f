/** The share of slots in use beyond which the table grows. */
const MAX_LOAD = 0.6;
const FIRST_SLOTS = 1024;

/**
 * Numbers by id, for millions of ids. Of an id only 64 bits of a hash are kept, in typed arrays: 20 to 40 bytes each.
 * Two of a million ids have the same hash with a chance of 1 in 37 million. The seed makes that unpredictable.
 */
export class IdMap {
  private slots = new Int32Array(FIRST_SLOTS);
  private highs = new Int32Array(FIRST_SLOTS);
  private lows = new Int32Array(FIRST_SLOTS);
  private used = 0;
  /** The hash of the last id. */
  high = 0;
  low = 0;

  constructor(private readonly seed: number) {}

  get size(): number {
    return this.used;
  }

  /** The number of an id; -1 if there is none. */
  get(id: string): number {
    this.hash(id);
    return this.find(this.high, this.low);
  }

  /** The same by the hash of the id. */
  find(high: number, low: number): number {
    return this.slots[this.slotOf(high, low)]! - 1;
  }

  /** Sets the number of an id, from 0 on. */
  set(id: string, number: number): void {
    this.hash(id);
    const slot = this.slotOf(this.high, this.low);
    if (this.slots[slot] === 0) this.used++;
    this.slots[slot] = number + 1;
    this.highs[slot] = this.high;
    this.lows[slot] = this.low;
    if (this.used > MAX_LOAD * this.slots.length) this.grow();
  }

  /** Sets `high` and `low`. */
  hash(id: string): void {
    let high = this.seed ^ id.length;
    let low = ~high;
    for (let at = 0; at < id.length; at++) {
      const code = id.charCodeAt(at);
      high = Math.imul(high ^ code, 0x9e37_79b1);
      high ^= high >>> 15;
      low = Math.imul((low ^ code) + 0x7f4a_7c15, 0x2c1b_3c6d);
      low ^= low >>> 13;
    }
    high = Math.imul(high ^ (low >>> 16), 0x297a_2d39);
    low = Math.imul(low ^ (high >>> 15), 0x1b56_c4e9);
    this.high = high ^ (high >>> 16);
    this.low = low ^ (low >>> 14);
  }

  /** The slot of a hash, or the free one where it belongs. */
  private slotOf(high: number, low: number): number {
    const { slots, highs, lows } = this;
    const mask = slots.length - 1;
    let slot = low & mask;
    while (slots[slot] !== 0 && (lows[slot] !== low || highs[slot] !== high)) slot = (slot + 1) & mask;
    return slot;
  }

  private grow(): void {
    const { slots, highs, lows } = this;
    this.slots = new Int32Array(2 * slots.length);
    this.highs = new Int32Array(2 * slots.length);
    this.lows = new Int32Array(2 * slots.length);
    for (let old = 0; old < slots.length; old++) {
      if (slots[old] === 0) continue;
      const slot = this.slotOf(highs[old]!, lows[old]!);
      this.slots[slot] = slots[old]!;
      this.highs[slot] = highs[old]!;
      this.lows[slot] = lows[old]!;
    }
  }
}
