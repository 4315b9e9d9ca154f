import { signal } from '@preact/signals';
import { type BatchTab, hashOf, type Route, routeOf } from '../model/route.ts';

export const route = signal<Route>({ page: 'batches' });

export function followAddress(): void {
  const follow = () => {
    route.value = routeOf(location.hash);
  };
  window.addEventListener('hashchange', follow);
  follow();
}

/** Shows one execution in the panel, or none. It replaces the address: going back leaves the view, not the panel. */
export function selectTask(task: string | undefined): void {
  if (route.value.page !== 'batch') return;
  route.value = { ...route.value, task };
  history.replaceState(null, '', hashOf(route.value));
}

/** Shows another view of the batch that is open, as the address stands now: a key may come before the next frame. */
export function showTab(tab: BatchTab): void {
  if (route.value.page === 'batch') go({ ...route.value, tab });
}

export function go(next: Route): void {
  location.hash = hashOf(next);
}
