import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { countText } from '../../../../src/core/words.ts';
import { batchPath, post } from '../../api/http.ts';
import { may } from '../../api/session.ts';
import type { FeatureBoard, FeatureRun, Subtask } from '../../api/wire.ts';
import { batchOf, type Column, columnsOf, costText, evidenceText } from '../../model/board.ts';
import { batchHash, type Query } from '../../model/route.ts';
import { act } from '../../ui/actions.ts';
import { Empty } from '../../ui/empty.tsx';
import { Icon } from '../../ui/icons.tsx';
import { setQuery } from '../../ui/route.ts';
import { useShortcuts } from '../../ui/shortcuts.ts';
import { Tabs } from '../../ui/tabs.tsx';
import { usePolled } from '../../ui/use-polled.ts';
import { BoardIcon } from './board-icon.tsx';
import { FEATURE_TAG, FEATURE_TEXT, FeatureBar } from './features-page.tsx';
import { SubtaskPanel } from './subtask-panel.tsx';

/** The path of a feature on the server. */
export function featurePath(feature: string): string {
  return `features/${encodeURIComponent(feature)}`;
}

const VIEWS = [
  [undefined, 'Board'],
  ['report', 'Report'],
] as const;

/** One feature: its subtasks by state, what can be done with them, and the report of the last run. */
export function BoardPage({ feature, query }: { feature: string; query: Query }): JSX.Element {
  const path = featurePath(feature);
  const [board, error, again] = usePolled<FeatureBoard>(`${path}/board`);
  const { task, view } = query;
  useEffect(() => {
    document.title = `${board?.name ?? feature} · Volley`;
  }, [board?.name]);
  useShortcuts({ Escape: () => select(undefined) });
  if (error?.status === 404)
    return (
      <div class="page">
        <Empty title={`There is no feature called “${feature}”`}>
          <p>
            It may have been archived. <a href="#/features">See all features</a>
          </p>
        </Empty>
      </div>
    );
  const subtask = board?.subtasks.find(({ seq }) => seq === task);
  return (
    <div class="page is-filled">
      {error !== undefined && (
        <p class="problem" role="alert">
          {error.text}
        </p>
      )}
      {board === undefined ? <h1 class="page-title">{feature}</h1> : <Head board={board} again={again} />}
      <Tabs
        label="Views of the feature"
        tabs={VIEWS}
        current={view === 'report' ? 'report' : undefined}
        choose={(one) => setQuery({ view: one, task: undefined })}
      />
      {view === 'report' ? (
        <Report path={path} isRunning={board?.running === true} />
      ) : (
        <div class={subtask === undefined ? 'split' : 'split has-panel'}>
          <div class="split-main board-scroll">
            {board !== undefined && <Board board={board} chosen={task} />}
          </div>
          {board !== undefined && subtask !== undefined && (
            <SubtaskPanel
              key={subtask.seq}
              board={board}
              subtask={subtask}
              query={query}
              close={() => select(undefined)}
              again={again}
            />
          )}
        </div>
      )}
    </div>
  );
}

/** Shows one subtask in the panel, or none. What was chosen in the panel belonged to the one before. */
export function select(task: string | undefined): void {
  setQuery({ task, attempt: undefined, line: undefined, find: undefined });
}

function Head({ board, again }: { board: FeatureBoard; again: () => void }): JSX.Element {
  const {
    feature,
    name,
    running,
    objective,
    unreadable,
    completed_count: done,
    subtask_count: total,
  } = board;
  const state = running ? 'running' : board.status;
  const usage = costText(board);
  return (
    <div class="board-head">
      <div class="board-title">
        <a class="button is-quiet is-icon" href="#/features" aria-label="All features">
          <Icon name="back" />
        </a>
        <h1 class="page-title">{name}</h1>
        <span class={`tag is-${FEATURE_TAG[state]}`}>{FEATURE_TEXT[state]}</span>
        <span class="spring" />
        <FeatureActions board={board} again={again} />
      </div>
      {objective !== null && objective !== name && <p class="board-objective">{objective}</p>}
      <FeatureBar feature={feature} done={done} total={total} />
      <p class="quiet board-facts">
        <span>
          {done} of {countText(total, 'subtask')} completed
        </span>
        {usage !== '' && <span title="Reported by the agents, over all runs that have ended">{usage}</span>}
        {running && <a href={batchHash(batchOf(feature))}>The run as a batch</a>}
      </p>
      {unreadable.length > 0 && (
        <p class="problem">These files cannot be read, and count as open: {unreadable.join(', ')}</p>
      )}
    </div>
  );
}

function FeatureActions({ board, again }: { board: FeatureBoard; again: () => void }): JSX.Element | null {
  const [isBusy, setBusy] = useState(false);
  const { feature, running, subtasks } = board;
  if (!may('run')) return null;
  const busily = async (action: () => Promise<string>) => {
    setBusy(true);
    await act(action);
    setBusy(false);
    again();
  };
  const open = subtasks.filter(({ state }) => state !== 'completed' && state !== 'blocked').length;
  if (running) {
    const stop = (graceful: boolean, done: string) =>
      void busily(async () => {
        await post(`${batchPath(batchOf(feature))}/stop`, { graceful });
        return done;
      });
    return (
      <span class="actions">
        <button
          type="button"
          class="button"
          disabled={isBusy}
          title="Agents that work finish; no others start"
          onClick={() => stop(true, 'It stops when the agents that work have finished.')}
        >
          <Icon name="stop" /> Stop
        </button>
        <button
          type="button"
          class="button"
          disabled={isBusy}
          onClick={() => {
            if (
              window.confirm(
                'Terminate all agents of this feature now? What they have not finished is not merged.',
              )
            )
              stop(false, 'The agents are being terminated.');
          }}
        >
          Terminate agents
        </button>
      </span>
    );
  }
  if (open === 0) return null;
  return (
    <button
      type="button"
      class="button is-main"
      disabled={isBusy}
      onClick={() => {
        if (window.confirm(`Start coding agents on ${countText(open, 'open subtask')} of this feature?`))
          void busily(() => startRun(feature));
      }}
    >
      <Icon name="play" /> Start agents
    </button>
  );
}

/** Starts agents on all open subtasks, or on one. */
export async function startRun(feature: string, seq?: string): Promise<string> {
  const body = seq === undefined ? {} : { subtasks: [seq] };
  const { state } = await post<FeatureRun>(`${featurePath(feature)}/run`, body);
  return state === 'running' ? 'Started.' : 'There was nothing to run.';
}

function Board({ board, chosen }: { board: FeatureBoard; chosen: string | undefined }): JSX.Element {
  if (board.subtasks.length === 0) return <Empty title="This feature has no subtasks" />;
  return (
    <div class="board">
      {columnsOf(board).map((column) => (
        <BoardColumn key={column.state} column={column} chosen={chosen} />
      ))}
    </div>
  );
}

function BoardColumn({ column, chosen }: { column: Column; chosen: string | undefined }): JSX.Element {
  const { state, text, subtasks } = column;
  return (
    <section class={`board-column is-${state}`} aria-labelledby={`column-${state}`}>
      <h2 id={`column-${state}`}>
        <BoardIcon state={state} />
        {text} <span class="quiet">{subtasks.length}</span>
      </h2>
      <ul>
        {subtasks.map((subtask) => (
          <SubtaskCard key={subtask.seq} subtask={subtask} isChosen={subtask.seq === chosen} />
        ))}
      </ul>
    </section>
  );
}

function SubtaskCard({ subtask, isChosen }: { subtask: Subtask; isChosen: boolean }): JSX.Element {
  const { seq, title, depends_on: before, step, worker, state, result, blocked_reason: blocked } = subtask;
  const agent = subtask.agent_id ?? result?.agent ?? subtask.suggested_agent;
  const usage = costText(subtask);
  const evidence = evidenceText(subtask);
  const why = state === 'blocked' ? (blocked ?? '') : (subtask.error ?? '');
  return (
    <li>
      <button
        type="button"
        class="subtask"
        aria-pressed={isChosen}
        onClick={() => select(isChosen ? undefined : seq)}
      >
        <span class="subtask-title">
          <span class="mono quiet">{seq}</span> {title}
        </span>
        {state === 'running' && step !== null && <span class="subtask-step">{step}</span>}
        {state === 'running' && worker !== null && <span class="quiet">on {worker}</span>}
        {why !== '' && <span class="subtask-why">{why}</span>}
        <span class="subtask-facts quiet">
          {before.length > 0 && <span>after {before.join(', ')}</span>}
          {agent !== null && <span>{agent}</span>}
          {evidence !== '' && state !== 'running' && <span>{evidence}</span>}
          {usage !== '' && <span>{usage}</span>}
        </span>
      </button>
    </li>
  );
}

function Report({ path, isRunning }: { path: string; isRunning: boolean }): JSX.Element {
  const [run, error] = usePolled<FeatureRun>(`${path}/report`);
  if (isRunning || run?.state === 'running')
    return <p class="quiet">Agents are working on it. The report is written when the run has ended.</p>;
  // The server says so with an error of the request.
  if (error?.status === 400) return <Empty title="It has not been run yet" />;
  if (error !== undefined)
    return (
      <p class="problem" role="alert">
        {error.text}
      </p>
    );
  if (run === undefined) return <p class="quiet">Reading the report…</p>;
  return (
    <pre class="data report" tabIndex={0}>
      {run.text}
    </pre>
  );
}
