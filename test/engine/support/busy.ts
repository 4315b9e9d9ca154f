/** Work that does not let go of the thread. */
export function stayBusyFor(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
