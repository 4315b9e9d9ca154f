import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { spanText } from '../../../../src/core/words.ts';
import { post } from '../../api/http.ts';
import { may } from '../../api/session.ts';
import type { FeatureBoard, Subtask } from '../../api/wire.ts';
import { COLUMNS, costText } from '../../model/board.ts';
import type { Query } from '../../model/route.ts';
import { act } from '../../ui/actions.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icons.tsx';
import { PanelHead } from '../../ui/panel-head.tsx';
import { setQuery } from '../../ui/route.ts';
import { Tabs } from '../../ui/tabs.tsx';
import { LogView } from '../logs/log-view.tsx';
import { BoardIcon } from './board-icon.tsx';
import { featurePath, select, startRun } from './board-page.tsx';
import { DiffView } from './diff-view.tsx';

interface PanelProps {
  readonly board: FeatureBoard;
  readonly subtask: Subtask;
  readonly query: Query;
  readonly close: () => void;
  readonly again: () => void;
}

const VIEWS = [
  [undefined, 'Details'],
  ['log', 'Agent log'],
  ['diff', 'Diff'],
] as const;

/** Everything about one subtask, beside the board. */
export function SubtaskPanel({ board, subtask, query, close, again }: PanelProps): JSX.Element {
  const { seq, title, state } = subtask;
  // Of a subtask without open work there is nothing to compare.
  const views = subtask.review === null ? VIEWS.filter(([view]) => view !== 'diff') : VIEWS;
  const [view] = views.find(([one]) => one === query['view']) ?? [undefined];
  return (
    <aside class={view === undefined ? 'panel' : 'panel has-log'} aria-labelledby="panel-title">
      <PanelHead title={title} id={seq} close={close} />
      <div class="panel-state">
        <span class="status-text">
          <BoardIcon state={state} />
          {COLUMNS.find(([one]) => one === state)![1]}
        </span>
        <span class="spring" />
        <Buttons board={board} subtask={subtask} again={again} />
      </div>
      <Tabs
        label="Views of the subtask"
        tabs={views}
        current={view}
        isInPanel
        choose={(one) => setQuery({ view: one })}
      />
      {view === 'log' && (
        <LogView
          path={`${featurePath(board.feature)}/subtasks/${encodeURIComponent(seq)}/log`}
          isGrowing={state === 'running'}
          query={query}
        />
      )}
      {view === 'diff' && <DiffView feature={board.feature} subtask={subtask} again={again} />}
      {view === undefined && <Details board={board} subtask={subtask} />}
    </aside>
  );
}

function Details({ board, subtask }: { board: FeatureBoard; subtask: Subtask }): JSX.Element {
  const {
    state,
    step,
    worker,
    description,
    result,
    depends_on: before,
    completion_summary: summary,
  } = subtask;
  const after = board.subtasks.filter((one) => one.depends_on.includes(subtask.seq));
  const titleOf = (seq: string) => board.subtasks.find((one) => one.seq === seq)?.title ?? 'missing';
  const usage = costText(subtask);
  return (
    <>
      {state === 'running' && step !== null && (
        <Part title="Now">
          <p>{step}</p>
          {worker !== null && <p class="quiet">on {worker}</p>}
        </Part>
      )}
      {subtask.review !== null && (
        <Part title="Waits for review">
          <p>
            {subtask.review.summary}{' '}
            <button type="button" class="link" onClick={() => setQuery({ view: 'diff' })}>
              See the diff
            </button>
          </p>
        </Part>
      )}
      {subtask.rejected !== null && (
        <Part title="Why the last work was rejected">
          <p>{subtask.rejected}</p>
        </Part>
      )}
      {subtask.blocked_reason !== null && (
        <Part title="Why it is blocked">
          <p class="problem">{subtask.blocked_reason}</p>
        </Part>
      )}
      {subtask.error !== null && (
        <Part title="Why the last attempt failed">
          <p class="problem">{subtask.error}</p>
        </Part>
      )}
      {subtask.forced !== null && (
        <Part title="Completed by force, although this was missing">
          <List of={subtask.forced} />
        </Part>
      )}
      {summary !== null && (
        <Part title="Summary">
          <p>{summary}</p>
        </Part>
      )}
      {result !== null && result.evidence.length > 0 && (
        <Part title="Evidence">
          <ul class="evidence">
            {result.evidence.map(({ subject, ok, text }) => (
              <li key={subject} class={ok ? 'is-ok' : 'is-missing'}>
                <span class="evidence-sign" role="img" aria-label={ok ? 'passed' : 'missing'}>
                  {ok ? '✓' : '✗'}
                </span>
                <span>
                  <strong class="mono">{subject}</strong> {text}
                </span>
              </li>
            ))}
          </ul>
        </Part>
      )}
      {result?.discrepancy && (
        <Part title="Note">
          <p>{result.discrepancy}</p>
        </Part>
      )}
      {description !== null && (
        <Part title="Description">
          <p class="text">{description}</p>
        </Part>
      )}
      {subtask.acceptance_criteria.length > 0 && (
        <Part title="Acceptance criteria">
          <List of={subtask.acceptance_criteria} />
        </Part>
      )}
      {subtask.deliverables.length > 0 && (
        <Part title="Deliverables">
          <List of={subtask.deliverables} isMono />
        </Part>
      )}
      {subtask.checks.length > 0 && (
        <Part title="Checks">
          <List of={subtask.checks} isMono />
        </Part>
      )}
      {before.length + after.length > 0 && (
        <Part title="Dependencies">
          <ul class="task-links">
            {before.map((seq) => (
              <Link key={seq} seq={seq} text={`after ${seq} ${titleOf(seq)}`} />
            ))}
            {after.map(({ seq, title }) => (
              <Link key={seq} seq={seq} text={`before ${seq} ${title}`} />
            ))}
          </ul>
        </Part>
      )}
      {result !== null && result.touched.length > 0 && (
        <Part title="Changed files">
          <List of={result.touched} isMono />
        </Part>
      )}
      {result !== null && result.outside_deliverables.length > 0 && (
        <Part title="Changed, but no deliverables">
          <List of={result.outside_deliverables} isMono />
        </Part>
      )}
      <Part title="Facts">
        <dl class="facts">
          <Fact name="Agent" value={subtask.agent_id ?? result?.agent ?? subtask.suggested_agent} />
          <Fact name="Cost" value={usage === '' ? null : usage} />
          <Fact name="Attempts" value={result === null ? null : String(result.attempts)} />
          <Fact name="Time of the last run" value={result === null ? null : spanText(result.duration_ms)} />
          <Fact name="Branch" value={result?.branch ?? null} />
          <Fact name="Work that was not merged" value={result?.kept ?? null} />
          <Fact name="May run with others" value={subtask.parallel ? 'yes' : 'no'} />
        </dl>
      </Part>
    </>
  );
}

function Part({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

/** Longer lists are cut, with the number of what is left out. */
const MAX_LISTED = 100;

function List({ of, isMono = false }: { of: readonly string[]; isMono?: boolean }): JSX.Element {
  return (
    <ul class={isMono ? 'list mono' : 'list'}>
      {of.slice(0, MAX_LISTED).map((text, index) => (
        <li key={`${index} ${text}`}>{text}</li>
      ))}
      {of.length > MAX_LISTED && <li class="quiet">and {of.length - MAX_LISTED} more</li>}
    </ul>
  );
}

function Link({ seq, text }: { seq: string; text: string }): JSX.Element {
  return (
    <li>
      <button type="button" class="link" onClick={() => select(seq)}>
        {text}
      </button>
    </li>
  );
}

function Fact({ name, value }: { name: string; value: string | null }): JSX.Element | null {
  if (value === null) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Buttons({
  board,
  subtask,
  again,
}: Pick<PanelProps, 'board' | 'subtask' | 'again'>): JSX.Element | null {
  const [isBusy, setBusy] = useState(false);
  const [isCompleting, setCompleting] = useState(false);
  const { state, seq } = subtask;
  if (!may('run') || state === 'completed' || state === 'review') return null;
  const start = async () => {
    setBusy(true);
    await act(() => startRun(board.feature, seq));
    setBusy(false);
    again();
  };
  const mayStart = !board.running && (state === 'ready' || state === 'failed');
  return (
    <span class="actions">
      {mayStart && (
        <button
          type="button"
          class="button"
          disabled={isBusy}
          onClick={() => {
            if (window.confirm(`Start a coding agent on ${seq}?`)) void start();
          }}
        >
          <Icon name={state === 'failed' ? 'retry' : 'play'} /> {state === 'failed' ? 'Retry' : 'Start'}
        </button>
      )}
      <button type="button" class="button" onClick={() => setCompleting(true)}>
        Complete
      </button>
      {isCompleting && (
        <CompleteDialog board={board} subtask={subtask} close={() => setCompleting(false)} again={again} />
      )}
    </span>
  );
}

interface CompleteProps extends Pick<PanelProps, 'board' | 'subtask' | 'again'> {
  readonly close: () => void;
}

/** Completion is what can be shown: the server verifies the work first, and says what is missing. */
function CompleteDialog({ board, subtask, close, again }: CompleteProps): JSX.Element {
  const [summary, setSummary] = useState('');
  const [isBusy, setBusy] = useState(false);
  const complete = async () => {
    setBusy(true);
    const path = `${featurePath(board.feature)}/subtasks/${encodeURIComponent(subtask.seq)}/complete`;
    const isDone = await act(async () => {
      await post(path, { summary });
      return `${subtask.seq} is completed.`;
    });
    setBusy(false);
    again();
    if (isDone) close();
  };
  return (
    <Dialog title={`Complete ${subtask.seq}`} close={close}>
      <form
        class="complete-form"
        onSubmit={(event) => {
          event.preventDefault();
          void complete();
        }}
      >
        <p class="quiet">
          The deliverables and checks are verified first. It is completed only if all are there.
        </p>
        <label class="field">
          What was done
          <textarea
            class="input"
            required
            maxLength={10_000}
            value={summary}
            onInput={(event) => setSummary(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="button is-main" disabled={isBusy}>
          {isBusy ? 'Verifying…' : 'Verify and complete'}
        </button>
      </form>
    </Dialog>
  );
}
