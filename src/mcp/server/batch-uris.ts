const FORM = /^volley:\/\/(batches|results)\/([^/?#]+)$/;

export const BATCH_TEMPLATE = 'volley://batches/{id}';
export const RESULTS_TEMPLATE = 'volley://results/{id}';

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
export function batchOf(uri: string): string | undefined {
  const coded = FORM.exec(uri)?.[2];
  if (coded === undefined) return undefined;
  try {
    return decodeURIComponent(coded);
  } catch {
    return undefined;
  }
}
