import type { JSX } from 'preact';
import { addressOf, executionPath } from '../../api/http.ts';
import type { ExecutionDetail } from '../../api/wire.ts';
import { bytesText } from '../../model/text.ts';

export function Result({ detail }: { detail: ExecutionDetail }): JSX.Element | null {
  const { batch, id, result_preview: preview, result_bytes: bytes } = detail;
  if (preview === null) return null;
  return (
    <section>
      <h3>
        Result{' '}
        <small>
          {bytes === null ? '' : bytesText(bytes)} ·{' '}
          <a href={addressOf(`${executionPath(batch, id)}/result`)} target="_blank" rel="noreferrer">
            open whole
          </a>
        </small>
      </h3>
      <pre class="data" tabIndex={0}>
        {indented(preview)}
      </pre>
    </section>
  );
}

export function Arguments({ detail: { params } }: { detail: ExecutionDetail }): JSX.Element {
  return (
    <section>
      <h3>Arguments</h3>
      <pre class="data" tabIndex={0}>
        {JSON.stringify(params, null, 2)}
      </pre>
    </section>
  );
}

/** A preview is cut off where it is long, and then no JSON. */
function indented(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  } catch {
    return text;
  }
}
