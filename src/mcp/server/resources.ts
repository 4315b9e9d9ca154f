import { type McpServer, ResourceNotFoundError, ResourceTemplate } from '@modelcontextprotocol/server';
import { resultRows } from './result-rows.ts';
import type { McpBackend, OpenBackend } from './tool.ts';

const MAX_LISTED = 100;
const MAX_ROWS = 1000;
const MAX_CHARS = 200_000;
const JSON_TYPE = 'application/json';

/** Makes batches and their results readable as resources. */
export function registerResources(server: McpServer, open: OpenBackend): void {
  const list = async (uriOf: (name: string) => string, title: (name: string) => string) => {
    const { executor } = await open();
    const resources = (await executor.views(undefined, MAX_LISTED)).map(({ name, total, counts }) => ({
      uri: uriOf(name),
      name: title(name),
      description: `${total} tasks, ${counts.completed} completed`,
      mimeType: JSON_TYPE,
    }));
    return { resources };
  };
  server.registerResource(
    'batch',
    new ResourceTemplate(BATCH_TEMPLATE, { list: () => list(batchUri, (name) => `Batch ${name}`) }),
    {
      title: 'The state of a batch',
      description: 'Counts, rate, time left, running and failed tasks.',
      mimeType: JSON_TYPE,
    },
    (uri) => read(uri, open, statusOf),
  );
  server.registerResource(
    'results',
    new ResourceTemplate(RESULTS_TEMPLATE, { list: () => list(resultsUri, (name) => `Results of ${name}`) }),
    {
      title: 'The results of a batch',
      description: 'In the order of its tasks; long ones are cut.',
      mimeType: JSON_TYPE,
    },
    (uri) => read(uri, open, resultsOf),
  );
}

async function read(
  { href }: URL,
  open: OpenBackend,
  readBatch: (backend: McpBackend, batch: string) => Promise<object>,
) {
  const batch = batchOf(href);
  const backend = await open();
  if (batch === undefined || (await backend.store.batch(batch)) === undefined)
    throw new ResourceNotFoundError(href);
  const text = JSON.stringify(await readBatch(backend, batch));
  return { contents: [{ uri: href, mimeType: JSON_TYPE, text }] };
}

async function statusOf({ executor }: McpBackend, batch: string): Promise<object> {
  return (await executor.handle({ action: 'status', batch, detailed: true })).data;
}

async function resultsOf({ store }: McpBackend, batch: string): Promise<object> {
  const query = { status: undefined, afterSeq: 0, limit: MAX_ROWS, maxChars: MAX_CHARS };
  const { rows, next } = await resultRows(store, batch, query);
  return { batch, results: rows, ...(next !== undefined && { next_cursor: next }) };
}

const FORM = /^volley:\/\/(batches|results)\/([^/?#]+)$/;

const BATCH_TEMPLATE = 'volley://batches/{id}';
const RESULTS_TEMPLATE = 'volley://results/{id}';

export function batchUri(batch: string): string {
  return `volley://batches/${encodeURIComponent(batch)}`;
}

export function resultsUri(batch: string): string {
  return `volley://results/${encodeURIComponent(batch)}`;
}

/** Whether something can be read there. */
export function isBatchUri(uri: string): boolean {
  return batchOf(uri) !== undefined;
}

/** The batch that an address names. */
function batchOf(uri: string): string | undefined {
  const coded = FORM.exec(uri)?.[2];
  if (coded === undefined) return undefined;
  try {
    return decodeURIComponent(coded);
  } catch {
    return undefined;
  }
}
