import { signal } from '@preact/signals';
import { type BatchTab, hashOf, type Route, routeOf, withQuery } from '../model/route.ts';

export const route = signal<Route>({ page: 'batches', query: {} });

/** Browsers refuse an address that changes too often, as it would while somebody types or drags. */
const SETTLE_MS = 250;
let timer: number | undefined;

export function followAddress(): void {
  const follow = () => {
    clearTimeout(timer);
    timer = undefined;
    route.value = routeOf(location.hash);
  };
  window.addEventListener('hashchange', follow);
  follow();
}

/**
 * Changes how the page is shown, so that its address shows the same to others. It replaces the address: going back
 * leaves the page, not the filter.
 */
export function setQuery(change: Readonly<Record<string, string | undefined>>): void {
  route.value = { ...route.value, query: withQuery(route.value.query, change) };
  timer ??= window.setTimeout(writeAddress, SETTLE_MS);
}

/** Shows one execution in the panel, or none. */
export function selectTask(task: string | undefined): void {
  if (route.value.page !== 'batch') return;
  // What was chosen in the log belonged to the one before.
  setQuery({ task, attempt: undefined, line: undefined, find: undefined });
  writeAddress();
}

/** Shows another view of the batch that is open, as the address stands now: a key may come before the next frame. */
export function showTab(tab: BatchTab): void {
  if (route.value.page === 'batch') go({ ...route.value, tab });
}

export function go(next: Route): void {
  // What one comes back to is what one left.
  if (timer !== undefined) writeAddress();
  location.hash = hashOf(next);
}

function writeAddress(): void {
  clearTimeout(timer);
  timer = undefined;
  history.replaceState(null, '', hashOf(route.value));
}
