export type BatchTab = 'executions' | 'graph' | 'timeline';
const TABS: readonly BatchTab[] = ['executions', 'graph', 'timeline'];

export type Route =
  | { readonly page: 'batches' }
  | { readonly page: 'machine' }
  | { readonly page: 'workers' }
  | {
      readonly page: 'batch';
      readonly batch: string;
      readonly tab: BatchTab;
      readonly task: string | undefined;
    };

/** The view is the fragment of the address, so that any server of plain files can serve the page. */
export function routeOf(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [page, name, tab] = path.split('/').map(decoded);
  if (page === 'machine') return { page: 'machine' };
  if (page === 'workers') return { page: 'workers' };
  if (page !== 'batch' || name === undefined || name === '') return { page: 'batches' };
  return {
    page: 'batch',
    batch: name,
    tab: TABS.find((one) => one === tab) ?? 'executions',
    task: new URLSearchParams(query).get('task') ?? undefined,
  };
}

export function hashOf(route: Route): string {
  if (route.page === 'batches') return '#/';
  if (route.page === 'machine') return '#/machine';
  if (route.page === 'workers') return '#/workers';
  const query = route.task === undefined ? '' : `?${new URLSearchParams({ task: route.task })}`;
  return `#/batch/${encodeURIComponent(route.batch)}/${route.tab}${query}`;
}

export function batchHash(batch: string): string {
  return hashOf({ page: 'batch', batch, tab: 'executions', task: undefined });
}

/** As it stands where it was not encoded as it should be. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
