import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { numberText } from '../../../../src/cli/output/numbers.ts';
import { countText } from '../../../../src/core/words.ts';
import { ApiError, batchPath, post } from '../../api/http.ts';
import type { Scope } from '../../api/session.ts';
import type { Batch } from '../../api/wire.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { type IconName, StatusIcon } from '../../ui/icons.tsx';
import { retry } from '../../ui/retry.ts';

/** Something that can be done with several batches. */
export interface BulkAction {
  readonly name: string;
  readonly icon: IconName;
  readonly scope: Scope;
  /** What it would do with one, or why it cannot. */
  readonly preview: (batch: Batch) => { readonly can: boolean; readonly text: string };
  /** Does it, and answers what came of it. */
  readonly run: (batch: string) => Promise<string>;
  /** What one should know before. */
  readonly warning?: string;
}

const ifAny = (count: number, done: string, otherwise: string) =>
  count > 0 ? { can: true, text: `${countText(count, 'task')} ${done}` } : { can: false, text: otherwise };

export const BULK_ACTIONS: readonly BulkAction[] = [
  {
    name: 'Start',
    icon: 'play',
    scope: 'run',
    preview: ({ state, counts }) =>
      state === 'idle'
        ? ifAny(counts.open, 'to run', 'nothing left to run')
        : { can: false, text: 'runs already' },
    run: async (batch) => {
      await post(`${batchPath(batch)}/start`);
      return 'started';
    },
  },
  {
    name: 'Cancel',
    icon: 'stop',
    scope: 'run',
    preview: ({ counts }) => ifAny(counts.open + counts.running, 'to cancel', 'nothing runs or waits'),
    run: async (batch) => {
      const { data } = await post<{ data: { cancelled?: number } }>(`${batchPath(batch)}/cancel`);
      return `${countText(data.cancelled ?? 0, 'task')} cancelled`;
    },
    warning: 'What running tasks have done so far is lost.',
  },
  {
    name: 'Retry',
    icon: 'retry',
    scope: 'run',
    preview: ({ counts, succeeded }) =>
      ifAny(
        succeeded ? 0 : counts.failed + counts.cancelled + counts.skipped,
        'to run again',
        'nothing to run again',
      ),
    run: (batch) => retry(batch),
  },
  {
    name: 'Clear',
    icon: 'close',
    scope: 'admin',
    preview: ({ state, total }) =>
      state === 'idle'
        ? { can: true, text: `${countText(total, 'task')} to forget` }
        : { can: false, text: 'runs: cancel or stop it first' },
    run: async (batch) => {
      await post(`${batchPath(batch)}/clear`);
      return 'cleared';
    },
    warning: 'The batches and all their results are deleted. This cannot be undone.',
  },
];

type Outcome = { readonly isDone: boolean; readonly text: string };

/** Asks once for all of them, does it to one after the other, and says what happened to each. */
export function BulkDialog(props: {
  action: BulkAction;
  batches: readonly Batch[];
  close: () => void;
}): JSX.Element {
  const { action, close } = props;
  // What was asked for stays the same, whatever happens to the batches meanwhile.
  const [plan] = useState(() =>
    props.batches.map((batch) => ({ name: batch.batch, ...action.preview(batch) })),
  );
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>();
  const possible = plan.filter(({ can }) => can);
  const isBusy = outcomes !== undefined && outcomes.size < possible.length;
  const run = async () => {
    let done: ReadonlyMap<string, Outcome> = new Map();
    setOutcomes(done);
    for (const { name } of possible) {
      done = new Map(done).set(name, await outcomeOf(() => action.run(name)));
      setOutcomes(done);
    }
  };
  const failed = [...(outcomes?.values() ?? [])].filter(({ isDone }) => !isDone).length;
  return (
    <Dialog title={`${action.name} ${batchesText(possible.length)}`} close={close}>
      {action.warning !== undefined && outcomes === undefined && possible.length > 0 && (
        <p class="problem">{action.warning}</p>
      )}
      <ul class="bulk-list" aria-label="Batches">
        {plan.map(({ name, can, text }) => {
          const outcome = outcomes?.get(name);
          return (
            <li key={name}>
              <BulkMark can={can} isAsked={outcomes !== undefined} outcome={outcome} />
              <b>{name}</b>
              <span class={outcome?.isDone === false ? 'bulk-problem' : 'quiet'}>
                {outcome?.text ?? (can ? text : `left alone: ${text}`)}
              </span>
            </li>
          );
        })}
      </ul>
      <div class="dialog-foot">
        <p role="status" class="quiet">
          {outcomes !== undefined &&
            (isBusy
              ? `${numberText(outcomes.size)} of ${numberText(possible.length)}…`
              : `${numberText(possible.length - failed)} done, ${numberText(failed)} failed`)}
        </p>
        {outcomes === undefined && possible.length > 0 ? (
          <button type="button" class="button is-main" onClick={() => void run()}>
            {action.name} {batchesText(possible.length)}
          </button>
        ) : (
          <button type="button" class="button" onClick={close} disabled={isBusy}>
            Close
          </button>
        )}
      </div>
    </Dialog>
  );
}

function BulkMark(props: { can: boolean; isAsked: boolean; outcome: Outcome | undefined }): JSX.Element {
  const { can, isAsked, outcome } = props;
  if (outcome !== undefined) return <StatusIcon status={outcome.isDone ? 'completed' : 'failed'} />;
  return <StatusIcon status={can ? (isAsked ? 'running' : 'open') : 'skipped'} />;
}

function batchesText(count: number): string {
  return `${numberText(count)} ${count === 1 ? 'batch' : 'batches'}`;
}

async function outcomeOf(run: () => Promise<string>): Promise<Outcome> {
  try {
    return { isDone: true, text: await run() };
  } catch (error) {
    return { isDone: false, text: error instanceof ApiError ? error.text : String(error) };
  }
}
