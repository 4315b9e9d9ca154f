import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { numberText } from '../../../../src/cli/output/numbers.ts';
import type { ApiError } from '../../api/http.ts';
import { connection } from '../../api/live.ts';
import type { Batch } from '../../api/wire.ts';
import { tableOf, tableQuery } from '../../model/order.ts';
import type { BatchTab, Route } from '../../model/route.ts';
import type { Row } from '../../model/row.ts';
import { BatchSync } from '../../store/batch-sync.ts';
import { state } from '../../store/store.ts';
import { ConnectionBar } from '../../ui/connection-bar.tsx';
import { Empty } from '../../ui/empty.tsx';
import { useOpenedGroups } from '../../ui/opened-groups.ts';
import { selectTask, setQuery, showTab } from '../../ui/route.ts';
import { useShortcuts } from '../../ui/shortcuts.ts';
import { Tabs } from '../../ui/tabs.tsx';
import { ExecutionPanel } from '../execution/execution-panel.tsx';
import { ExecutionsView } from '../executions/executions-view.tsx';
import { GraphView } from '../graph/graph-view.tsx';
import { TimelineView } from '../timeline/timeline-view.tsx';
import { BatchHead } from './batch-head.tsx';

type BatchRoute = Extract<Route, { page: 'batch' }>;

const TABS: readonly (readonly [tab: BatchTab, text: string])[] = [
  ['executions', 'Executions'],
  ['graph', 'Graph'],
  ['timeline', 'Timeline'],
];

/** One batch: how it stands, and its executions as a table, a graph or a timeline. */
export function BatchPage({ route, add }: { route: BatchRoute; add: () => void }): JSX.Element {
  const { batch: name, tab, query } = route;
  const { task, q, status, function: functionName, sort } = query;
  const [sync, setSync] = useState<BatchSync>();
  const table = useMemo(() => tableOf(query), [q, status, functionName, sort]);
  const groups = useOpenedGroups();
  const [error, setError] = useState<ApiError>();
  useEffect(() => {
    const own = new BatchSync(name, setError);
    setSync(own);
    return () => own.close();
  }, [name]);
  useShortcuts({
    1: () => showTab('executions'),
    2: () => showTab('graph'),
    3: () => showTab('timeline'),
    Escape: () => selectTask(undefined),
  });
  const batch = state.value.batches.get(name);
  const title = batch === undefined ? name : titleText(batch);
  useEffect(() => {
    document.title = `${title} · Volley`;
  }, [title]);
  const open = state.value.open?.name === name ? state.value.open : undefined;
  const running = useMemo(() => runningGroups(open?.rows ?? []), [open?.rows]);
  if (error?.status === 404) return <NoBatch name={name} />;
  return (
    <div class="page is-filled">
      <ConnectionBar retry={() => sync?.retryNow()} />
      {batch === undefined ? (
        <h1 class="page-title">{name}</h1>
      ) : (
        <BatchHead batch={batch} groups={running} add={add} />
      )}
      {error !== undefined && (error.status !== 0 || connection.value.state === 'crowded') && (
        <p class="problem" role="alert">
          {error.text}
        </p>
      )}
      <Tabs
        label="Views of the batch"
        tabs={TABS.map(([one, text], index) => [one, text, `${text} (${index + 1})`])}
        current={tab}
        choose={showTab}
      />
      <div class={task === undefined ? 'split' : 'split has-panel'}>
        <div class="split-main">
          {open !== undefined && tab === 'executions' && (
            <ExecutionsView
              open={open}
              task={task}
              table={table}
              change={(next) => setQuery(tableQuery(next))}
              groups={groups}
            />
          )}
          {open !== undefined && tab === 'graph' && <GraphView open={open} task={task} groups={groups} />}
          {open !== undefined && sync !== undefined && tab === 'timeline' && (
            <TimelineView open={open} task={task} sync={sync} />
          )}
        </div>
        {task !== undefined && open !== undefined && (
          <ExecutionPanel key={task} open={open} id={task} query={query} />
        )}
      </div>
    </div>
  );
}

/** `audit 3/6, 2 failed`: for a tab that nobody looks at. */
function titleText({ batch, counts, total }: Batch): string {
  const done = `${numberText(counts.completed)}/${numberText(total)}`;
  return `${batch} ${done}${counts.failed > 0 ? `, ${numberText(counts.failed)} failed` : ''}`;
}

function runningGroups(rows: readonly Row[]): number {
  return rows.filter(({ group_kind, status }) => group_kind !== null && status === 'running').length;
}

function NoBatch({ name }: { name: string }): JSX.Element {
  return (
    <div class="page">
      <Empty title={`There is no batch called “${name}”`}>
        <p>
          It may have been cleared. <a href="#/">See all batches</a>
        </p>
      </Empty>
    </div>
  );
}
