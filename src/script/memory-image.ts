const BLOCK = 4096;
const ZEROS = Buffer.alloc(BLOCK);
/** Zeros in a row that are left out: the stack, which is far larger and has no state between two calls. */
const MIN_GAP = 1 << 20;
/** How much of each gap is kept at its ends, because variables that are zero may be next to it. */
const MARGIN = 64 << 10;

/** The memory of a WebAssembly module. When it grows, it gets another buffer. */
export interface VmMemory {
  readonly buffer: ArrayBuffer;
}

interface Part {
  readonly at: number;
  readonly bytes: Uint8Array;
}

/**
 * The memory of a WebAssembly module as it is now. Restoring it takes microseconds, where creating a new VM takes a
 * millisecond, and undoes whatever has happened in the VM, even damage. It may be restored only while the module is
 * not running, and handles created after it was taken must not be used again.
 */
export class MemoryImage {
  private readonly parts: readonly Part[];

  constructor(private readonly memory: VmMemory) {
    this.parts = partsOf(new Uint8Array(memory.buffer));
  }

  restore(): void {
    const current = new Uint8Array(this.memory.buffer);
    for (const { at, bytes } of this.parts) current.set(bytes, at);
  }
}

function partsOf(memory: Uint8Array): Part[] {
  const parts: Part[] = [];
  const keep = (from: number, to: number) => parts.push({ at: from, bytes: memory.slice(from, to) });
  let start = 0;
  let end = 0;
  for (let block = 0; block < memory.length; block += BLOCK) {
    if (ZEROS.equals(memory.subarray(block, block + BLOCK))) continue;
    if (block - end > MIN_GAP) {
      keep(start, end + MARGIN);
      start = block - MARGIN;
    }
    end = block + BLOCK;
  }
  keep(start, Math.min(end + MARGIN, memory.length));
  return parts;
}
