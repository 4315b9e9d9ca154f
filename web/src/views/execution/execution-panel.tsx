import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { executionPath, post } from '../../api/http.ts';
import { may } from '../../api/session.ts';
import type { Query } from '../../model/route.ts';
import type { Row } from '../../model/row.ts';
import { canRetry, hasEnded, shownStatus } from '../../model/status.ts';
import { titleOf } from '../../model/text.ts';
import type { OpenBatch } from '../../store/state.ts';
import { act } from '../../ui/actions.ts';
import { Icon, StatusText } from '../../ui/icons.tsx';
import { PanelHead } from '../../ui/panel-head.tsx';
import { retry } from '../../ui/retry.ts';
import { selectTask, setQuery } from '../../ui/route.ts';
import { Tabs } from '../../ui/tabs.tsx';
import { Details } from '../executions/grid-row.tsx';
import { LogView } from '../logs/log-view.tsx';
import { Attempts } from './attempts.tsx';
import { Arguments, Result } from './data.tsx';
import { Facts } from './facts.tsx';
import { Expressions, Group } from './group.tsx';
import { Neighbours } from './neighbours.tsx';
import { useDetail } from './use-detail.ts';

const VIEWS = [
  [undefined, 'Details'],
  ['log', 'Log'],
] as const;

/** Everything about one execution, beside the view that it was chosen in. */
export function ExecutionPanel(props: { open: OpenBatch; id: string; query: Query }): JSX.Element {
  const { open, id, query } = props;
  const isLog = query['view'] === 'log';
  const row = open.rows[open.places.get(id) ?? -1];
  const [detail, error] = useDetail(open.name, id, row);
  return (
    <aside class={isLog ? 'panel has-log' : 'panel'} aria-labelledby="panel-title">
      <PanelHead title={row === undefined ? id : titleOf(row)} id={id} close={() => selectTask(undefined)} />
      {row !== undefined && (
        <div class="panel-state">
          <StatusText status={shownStatus(row)} />
          <span class="spring" />
          <Buttons open={open} row={row} />
        </div>
      )}
      <Tabs
        label="Views of the execution"
        tabs={VIEWS}
        current={isLog ? 'log' : undefined}
        isInPanel
        choose={(view) => setQuery({ view })}
      />
      {error !== undefined && (
        <p class="problem" role="alert">
          {error.status === 404 ? 'This execution is not there any more.' : error.text}
        </p>
      )}
      {isLog && (
        <LogView
          path={`${executionPath(open.name, id)}/log`}
          isGrowing={row !== undefined && !hasEnded(row.status)}
          query={query}
        />
      )}
      {!isLog && detail?.explanation && !hasEnded(detail.status) && detail.status === row?.status && (
        <section>
          <h3>Why it waits</h3>
          <p>{detail.explanation}</p>
        </section>
      )}
      {!isLog &&
        row !== undefined &&
        row.group_kind === null &&
        shownStatus(row) === 'running' &&
        (row.progress ?? row.step) !== null && (
          <p>
            <Details row={row} />
          </p>
        )}
      {!isLog && detail !== undefined && hasEnded(detail.status) && detail.status !== 'completed' && (
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
      {!isLog && row !== undefined && <Group open={open} row={row} />}
      {!isLog && detail !== undefined && (
        <>
          <Expressions detail={detail} />
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

const CANCEL_QUESTION =
  'Cancel this execution? What it has done so far is lost, and what depends on it is skipped.';

function Buttons({ open, row }: { open: OpenBatch; row: Row }): JSX.Element | null {
  const [isBusy, setBusy] = useState(false);
  const busily = async (action: () => Promise<string>) => {
    setBusy(true);
    await act(action);
    setBusy(false);
  };
  const cancel = async () => {
    await post(`${executionPath(open.name, row.id)}/cancel`);
    return 'Cancelled.';
  };
  if (!may('run')) return null;
  if (canRetry(row.status)) {
    return (
      <button
        type="button"
        class="button"
        disabled={isBusy}
        onClick={() => void busily(() => retry(open.name, [row.id]))}
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
      disabled={isBusy}
      onClick={() => {
        if (row.status !== 'running' || window.confirm(CANCEL_QUESTION)) void busily(cancel);
      }}
    >
      <Icon name="stop" /> Cancel
    </button>
  );
}
