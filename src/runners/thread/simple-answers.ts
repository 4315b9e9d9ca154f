import { SLOTS } from './claims.ts';

const NUMBER = 0;
/** Written as their index plus one. */
const CONSTANTS = [undefined, null, false, true] as const;

/**
 * Results that need no message, in shared memory: the host finds many at a time, and a thread that ends cannot take
 * them along. A slot belongs to the thread from its claim to its answer, and then to the host.
 */
export class SimpleAnswers {
  private readonly kinds: Float64Array<SharedArrayBuffer>;
  private readonly numbers: Float64Array<SharedArrayBuffer>;
  private readonly durations: Float64Array<SharedArrayBuffer>;

  constructor(readonly buffer = new SharedArrayBuffer(3 * SLOTS * Float64Array.BYTES_PER_ELEMENT)) {
    const column = (index: number) =>
      new Float64Array(buffer, index * SLOTS * Float64Array.BYTES_PER_ELEMENT, SLOTS);
    this.kinds = column(0);
    this.numbers = column(1);
    this.durations = column(2);
  }

  /** Whether the value is simple enough. */
  write(slot: number, value: unknown, durationMs: number): boolean {
    if (typeof value === 'number') {
      this.kinds[slot] = NUMBER;
      this.numbers[slot] = value;
    } else {
      const index = CONSTANTS.indexOf(value as undefined);
      if (index < 0) return false;
      this.kinds[slot] = index + 1;
    }
    this.durations[slot] = durationMs;
    return true;
  }

  value(slot: number): unknown {
    const kind = this.kinds[slot]!;
    return kind === NUMBER ? this.numbers[slot] : CONSTANTS[kind - 1];
  }

  durationMs(slot: number): number {
    return this.durations[slot]!;
  }
}
