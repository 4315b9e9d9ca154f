import { decoded } from '../api/decoded.ts';

export type BatchTab = 'executions' | 'graph' | 'timeline';
const TABS: readonly BatchTab[] = ['executions', 'graph', 'timeline'];

/** What a page shows and how, as names and texts: its filter, order, selection, zoom. Each page reads its own names. */
export type Query = Readonly<Record<string, string>>;

/** Pages that have nothing but a query. */
const PLAIN_PAGES = ['batches', 'features', 'machine', 'workers'] as const;
type PlainPage = (typeof PLAIN_PAGES)[number];

export type Route =
  | { readonly page: PlainPage; readonly query: Query }
  | { readonly page: 'batch'; readonly batch: string; readonly tab: BatchTab; readonly query: Query };

/** The view is the fragment of the address, so that any server of plain files can serve the page. */
export function routeOf(hash: string): Route {
  const text = hash.replace(/^#\/?/, '');
  const end = text.includes('?') ? text.indexOf('?') : text.length;
  const [page, name, tab] = text.slice(0, end).split('/').map(decoded);
  const query = Object.fromEntries(new URLSearchParams(text.slice(end + 1)));
  if (page === 'batch' && name !== undefined && name !== '')
    return { page, batch: name, tab: TABS.find((one) => one === tab) ?? 'executions', query };
  return { page: PLAIN_PAGES.find((one) => one === page) ?? 'batches', query };
}

export function hashOf(route: Route): string {
  const path = route.page === 'batch' ? `batch/${encodeURIComponent(route.batch)}/${route.tab}` : route.page;
  const query = new URLSearchParams(route.query).toString();
  return `#/${path === 'batches' ? '' : path}${query === '' ? '' : `?${query}`}`;
}

export function batchHash(batch: string): string {
  return hashOf({ page: 'batch', batch, tab: 'executions', query: {} });
}

/** A query with some values changed; those that are undefined or empty are left out. */
export function withQuery(query: Query, change: Readonly<Record<string, string | undefined>>): Query {
  const entries = Object.entries({ ...query, ...change });
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''),
  );
}

/** Several values in one: those that have a comma themselves are encoded. */
export function listText(values: Iterable<string>): string {
  return Array.from(values, encodeURIComponent).join(',');
}

export function listOf(text: string | undefined): string[] {
  return text === undefined || text === '' ? [] : text.split(',').map(decoded);
}
