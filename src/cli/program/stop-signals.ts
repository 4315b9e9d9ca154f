/** `gracefully`: finish running tasks, start no others. `now`: cancel running tasks. */
export type StopRequest = 'gracefully' | 'now';

/**
 * Calls when the user or the system asks this process to stop. Ctrl-C and SIGTERM ask gracefully at first, and then to
 * stop now. A closed terminal sends SIGHUP, often more than once: the kernel does, and so does the shell. It only ever
 * asks gracefully. Returns a function that stops listening.
 */
export function onStopSignals(stop: (request: StopRequest) => void): () => void {
  let interrupts = 0;
  let hasHungUp = false;
  const onInterrupt = () => {
    interrupts++;
    if (interrupts > 1) stop('now');
    else if (!hasHungUp) stop('gracefully');
  };
  const onHangUp = () => {
    if (!hasHungUp && interrupts === 0) stop('gracefully');
    hasHungUp = true;
  };
  process.on('SIGINT', onInterrupt).on('SIGTERM', onInterrupt).on('SIGHUP', onHangUp);
  return () => {
    process.off('SIGINT', onInterrupt).off('SIGTERM', onInterrupt);
    // A second one must not end a process that is about to end by itself.
    if (!hasHungUp) process.off('SIGHUP', onHangUp);
  };
}
