const MIB = 2 ** 20;

/** The memory to hold this many bytes as raw data, as text, and in transition between the two. */
export function memoryForMb(bytes: number): number {
  return 1 + Math.ceil((4 * bytes) / MIB);
}
