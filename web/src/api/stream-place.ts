/** Over HTTP/1.1 browsers have six connections to a server, for all windows together: one is left for requests. */
const PLACES = 5;
/** After this time, the page says that there are too many. */
const CROWDED_MS = 1000;

/**
 * The right to one of the lasting connections that all windows of this dashboard share. What a window had that was closed
 * or has crashed is given back by the browser.
 */
export class StreamPlace {
  private leaveIt: (() => void) | undefined;
  private stop = new AbortController();

  /** Waits until there is one, which this window has from then on. False if that was given up meanwhile. */
  take(crowded: () => void): Promise<boolean> {
    this.stop.abort();
    // Pages that came over plain HTTP from another machine have no locks; and newer protocols have no such limit.
    if (this.leaveIt !== undefined || !('locks' in navigator) || hasManyStreams())
      return Promise.resolve(true);
    const stop = new AbortController();
    this.stop = stop;
    return new Promise((resolve) => {
      const timer = setTimeout(crowded, CROWDED_MS);
      stop.signal.addEventListener('abort', () => {
        clearTimeout(timer);
        resolve(this.leaveIt !== undefined);
      });
      const keep = () => {
        if (stop.signal.aborted) return;
        return new Promise<void>((leave) => {
          this.leaveIt = leave;
          stop.abort();
        });
      };
      for (let place = 0; place < PLACES; place++) {
        navigator.locks
          .request(`volley-stream-${place}`, { signal: stop.signal }, keep)
          // It is wanted no more; or locks are forbidden, and then nobody counts.
          .catch(() => resolve(!stop.signal.aborted));
      }
    });
  }

  /** Gives it back, or waits for it no more. */
  leave(): void {
    this.stop.abort();
    this.leaveIt?.();
    this.leaveIt = undefined;
  }
}

function hasManyStreams(): boolean {
  const [page] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  return page !== undefined && /^h[23]/.test(page.nextHopProtocol);
}
