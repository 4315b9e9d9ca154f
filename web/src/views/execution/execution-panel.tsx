import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { executionPath, post } from '../../api/http.ts';
import { may } from '../../api/session.ts';
import { canRetry, hasEnded, shownStatus } from '../../model/status.ts';
import { titleOf } from '../../model/text.ts';
import type { OpenBatch, Row } from '../../store/state.ts';
import { act } from '../../ui/actions.ts';
import { Icon, StatusText } from '../../ui/icons.tsx';
import { retry } from '../../ui/retry.ts';
import { selectTask } from '../../ui/route.ts';
import { Attempts } from './attempts.tsx';
import { Arguments, Result } from './data.tsx';
import { Facts } from './facts.tsx';
import { Neighbours } from './neighbours.tsx';
import { useDetail } from './use-detail.ts';

/** Everything about one execution, beside the view that it was chosen in. */
export function ExecutionPanel({ open, id }: { open: OpenBatch; id: string }): JSX.Element {
  const row = open.rows[open.places.get(id) ?? -1];
  const [detail, error] = useDetail(open.name, id, row);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    heading.current?.focus({ preventScroll: true });
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  return (
    <aside class="panel" aria-labelledby="panel-title">
      <header class="panel-head">
        <div>
          <h2 id="panel-title" ref={heading} tabIndex={-1}>
            {row === undefined ? id : titleOf(row)}
          </h2>
          {row !== undefined && titleOf(row) !== id && <p class="mono quiet">{id}</p>}
        </div>
        <button
          type="button"
          class="button is-quiet is-icon"
          aria-label="Close the panel"
          title="Close (Esc)"
          onClick={() => selectTask(undefined)}
        >
          <Icon name="close" />
        </button>
      </header>
      {row !== undefined && (
        <div class="panel-state">
          <StatusText status={shownStatus(row)} />
          <span class="spring" />
          <Buttons open={open} row={row} />
        </div>
      )}
      {error !== undefined && (
        <p class="problem" role="alert">
          {error.status === 404 ? 'This execution is not there any more.' : error.text}
        </p>
      )}
      {detail?.explanation && detail.status === 'open' && row?.status === 'open' && (
        <section>
          <h3>Why it waits</h3>
          <p>{detail.explanation}</p>
        </section>
      )}
      {detail !== undefined && row?.status === 'running' && detail.step !== null && (
        <p class="quiet">{row.step}</p>
      )}
      {detail !== undefined && hasEnded(detail.status) && detail.status !== 'completed' && (
        <section>
          <h3>{detail.status === 'failed' ? 'Error' : 'Why'}</h3>
          <p class={detail.status === 'failed' ? 'problem' : undefined}>
            {detail.message ??
              detail.reason ??
              (detail.cause === null ? '' : `${detail.cause} did not succeed.`)}
          </p>
          {detail.reason !== null && (
            <p class="quiet mono">{[detail.reason, detail.code].filter(Boolean).join(' · ')}</p>
          )}
        </section>
      )}
      {detail !== undefined && (
        <>
          <Result detail={detail} />
          <Attempts detail={detail} />
          <Neighbours open={open} id={id} />
          <Arguments detail={detail} />
          <Facts detail={detail} />
        </>
      )}
    </aside>
  );
}

function Buttons({ open, row }: { open: OpenBatch; row: Row }): JSX.Element | null {
  if (!may('run')) return null;
  if (canRetry(row.status)) {
    return (
      <button
        type="button"
        class="button"
        onClick={() => void act('It runs again.', () => retry(open.name, [row.id]))}
      >
        <Icon name="retry" /> Retry
      </button>
    );
  }
  if (hasEnded(row.status)) return null;
  return (
    <button
      type="button"
      class="button"
      onClick={() => void act('Cancelled.', () => post(`${executionPath(open.name, row.id)}/cancel`))}
    >
      <Icon name="stop" /> Cancel
    </button>
  );
}
