import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { numberText } from '../../../../src/cli/output/numbers.ts';
import { addressOf, batchPath, post } from '../../api/http.ts';
import { may } from '../../api/session.ts';
import type { Batch } from '../../api/wire.ts';
import { act } from '../../ui/actions.ts';
import { Icon } from '../../ui/icons.tsx';
import { Menu } from '../../ui/menu.tsx';
import { retry } from '../../ui/retry.ts';
import { go } from '../../ui/route.ts';

/** What can be done with a batch as it stands now. */
export function BatchActions({ batch, add }: { batch: Batch; add: () => void }): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const { counts, state, succeeded } = batch;
  const path = batchPath(batch.batch);
  const busily = async (action: () => Promise<string>) => {
    setBusy(true);
    const isDone = await act(action);
    setBusy(false);
    return isDone;
  };
  const run = (done: string, action: string, body = {}) =>
    busily(async () => {
      await post(`${path}/${action}`, body);
      return done;
    });
  // A batch that succeeded has handled its failures.
  const ended = succeeded ? 0 : counts.failed + counts.cancelled + counts.skipped;
  return (
    <div class="actions">
      {may('run') && state === 'idle' && counts.open > 0 && (
        <button
          type="button"
          class="button is-main"
          disabled={isBusy}
          onClick={() => void run('Started.', 'start')}
        >
          <Icon name="play" /> Start
        </button>
      )}
      {may('run') && (state === 'running' || state === 'elsewhere') && (
        <button
          type="button"
          class="button"
          disabled={isBusy}
          title="Running tasks finish; no others start"
          onClick={() =>
            void run('It stops when the running tasks have finished.', 'stop', { graceful: true })
          }
        >
          <Icon name="stop" /> Stop
        </button>
      )}
      {may('run') && ended > 0 && (
        <button
          type="button"
          class="button"
          disabled={isBusy}
          title="Runs again what failed, was cancelled or was skipped"
          onClick={() => void busily(() => retry(batch.batch))}
        >
          <Icon name="retry" /> Retry {numberText(ended)}
        </button>
      )}
      <More batch={batch} add={add} run={run} />
    </div>
  );
}

function More(props: {
  batch: Batch;
  add: () => void;
  run: (done: string, action: string, body?: object) => Promise<boolean>;
}): JSX.Element {
  const { batch, add, run } = props;
  const path = batchPath(batch.batch);
  const isUnfinished = batch.counts.open + batch.counts.running > 0;
  const sure = (question: string, action: () => void) => () => {
    if (window.confirm(question)) action();
  };
  const clear = () =>
    void run('Cleared.', 'clear').then((isDone) => {
      if (isDone) go({ page: 'batches', query: {} });
    });
  return (
    <Menu text="More">
      {may('run') && (
        <button type="button" onClick={add}>
          Add tasks to it
        </button>
      )}
      {['json', 'csv', 'jsonl', 'markdown'].map((format) => (
        <a key={format} href={addressOf(`${path}/export`, { format })} download>
          Export as {EXPORT_TEXT[format]}
        </a>
      ))}
      {may('run') && isUnfinished && (
        <button
          type="button"
          onClick={sure(
            'Cancel everything that runs or waits in this batch?',
            () => void run('Cancelled.', 'cancel'),
          )}
        >
          Cancel all that is left
        </button>
      )}
      {may('admin') && batch.state === 'idle' && (
        <button
          type="button"
          class="is-danger"
          onClick={sure('Forget this batch with all its results? This cannot be undone.', clear)}
        >
          Clear the batch
        </button>
      )}
    </Menu>
  );
}

const EXPORT_TEXT: Readonly<Record<string, string>> = {
  json: 'JSON',
  csv: 'CSV',
  jsonl: 'JSON Lines',
  markdown: 'Markdown',
};
