/** The most calls one thread can hold: the running one and those queued behind it. */
export const SLOTS = 128;

const FREE = 0;
const OFFERED = 1;
const CLAIMED = 2;
const WITHDRAWN = 3;
const ANSWERED = 4;
/** The word after the slots: whether the host was notified about answers and has not looked yet. */
const NOTICE = SLOTS;

/**
 * The ownership of a call that was sent to a thread. Both sides change a word in shared memory, so that exactly one of
 * them gets it: the thread claims it right before it runs it, the host withdraws it to give it to another thread.
 * Neither waits for the other, even if the thread is in an endless loop.
 */
export class Claims {
  private readonly words: Int32Array<SharedArrayBuffer>;

  constructor(readonly buffer = new SharedArrayBuffer((SLOTS + 1) * Int32Array.BYTES_PER_ELEMENT)) {
    this.words = new Int32Array(buffer);
  }

  /** Called by the host before it sends a call in a free slot. */
  offer(slot: number): void {
    Atomics.store(this.words, slot, OFFERED);
  }

  /**
   * Called by the thread before it runs the call. If it returns false, the thread skips it, and the slot can be reused.
   */
  claim(slot: number): boolean {
    if (Atomics.compareExchange(this.words, slot, OFFERED, CLAIMED) === OFFERED) return true;
    Atomics.store(this.words, slot, FREE);
    return false;
  }

  /** Takes the call back for the host, unless the thread has claimed it. */
  withdraw(slot: number): boolean {
    return Atomics.compareExchange(this.words, slot, OFFERED, WITHDRAWN) === OFFERED;
  }

  /** Called by the thread after it left an answer. Returns whether the host must be notified. */
  answer(slot: number): boolean {
    Atomics.store(this.words, slot, ANSWERED);
    return Atomics.exchange(this.words, NOTICE, 1) === 0;
  }

  /** Called by the host before it looks at all slots. */
  look(): void {
    Atomics.store(this.words, NOTICE, 0);
  }

  isAnswered(slot: number): boolean {
    return Atomics.load(this.words, slot) === ANSWERED;
  }

  /** Called by the host when it has the answer. */
  release(slot: number): void {
    Atomics.store(this.words, slot, FREE);
  }

  isClaimed(slot: number): boolean {
    return Atomics.load(this.words, slot) === CLAIMED;
  }

  /** Whether the thread has passed a withdrawn slot. */
  isFree(slot: number): boolean {
    return Atomics.load(this.words, slot) === FREE;
  }
}
