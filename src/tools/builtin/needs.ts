const MIB = 2 ** 20;

/** What it takes to hold so many bytes as they came, as text, and on their way from one to the other. */
export function memoryForMb(bytes: number): number {
  return 1 + Math.ceil((4 * bytes) / MIB);
}
