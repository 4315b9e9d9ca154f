import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ApiError, post, randomKey } from '../../api/http.ts';
import type { Batch } from '../../api/wire.ts';
import { batchHash } from '../../model/route.ts';
import { notify } from '../../ui/actions.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { ManyTasks } from './many-tasks.tsx';
import { OneTask } from './one-task.tsx';
import { type BatchDraft, batchIn } from './pasted.ts';
import type { Faults } from './schema-form.tsx';
import { EMPTY_TASK, type TaskDraft, taskOf } from './task-draft.ts';

interface Draft {
  readonly mode: 'one' | 'many';
  readonly task: TaskDraft;
  readonly text: string;
}

const EMPTY: Draft = { mode: 'one', task: EMPTY_TASK, text: '' };

/** What was written and not sent yet: a user who closes the dialog by mistake finds it again. */
const written = signal(EMPTY);

/** What was sent last, with its key: where its answer was lost, sending it again adds nothing twice. */
let sent = { body: '', key: '' };

/** Adds one task that is filled in, or a pasted list of them, and starts if wished. */
export function AddDialog({ batch, close }: { batch: string | undefined; close: () => void }): JSX.Element {
  const { mode, task, text } = written.value;
  const write = (some: Partial<Draft>) => {
    written.value = { ...written.value, ...some };
  };
  const [name, setName] = useState(batch ?? '');
  const [isStarted, setStarted] = useState(true);
  const [atOnce, setAtOnce] = useState('');
  const [problem, setProblem] = useState('');
  const [faults, setFaults] = useState<Faults>(new Map());
  const [isBusy, setBusy] = useState(false);

  const submit = async (event: Event) => {
    event.preventDefault();
    setProblem('');
    setFaults(new Map());
    setBusy(true);
    try {
      const draft: BatchDraft = mode === 'one' ? { tasks: [taskOf(task)] } : batchIn(text);
      const added = await send(name.trim() || draft.batch, draft, isStarted, atOnce);
      written.value = EMPTY;
      sent = { body: '', key: '' };
      notify('done', isStarted ? 'Added and started.' : 'Added.');
      close();
      location.hash = batchHash(added.batch);
    } catch (error) {
      if (error instanceof ApiError) setFaults(taskFaults(error));
      setProblem(
        error instanceof ApiError ? error.text : error instanceof Error ? error.message : String(error),
      );
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={batch === undefined ? 'New tasks' : `Add tasks to ${batch}`} close={close} isWide>
      <form class="add" onSubmit={(event) => void submit(event)}>
        <fieldset class="modes">
          <legend class="sr-only">What to add</legend>
          <label>
            <input
              type="radio"
              name="mode"
              checked={mode === 'one'}
              onChange={() => write({ mode: 'one' })}
            />{' '}
            One task
          </label>
          <label>
            <input
              type="radio"
              name="mode"
              checked={mode === 'many'}
              onChange={() => write({ mode: 'many' })}
            />{' '}
            A pasted batch
          </label>
        </fieldset>
        {mode === 'one' ? (
          <OneTask draft={task} change={(next) => write({ task: next })} faults={faults} />
        ) : (
          <ManyTasks text={text} change={(next) => write({ text: next })} />
        )}
        {problem !== '' && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <div class="add-foot">
          {batch === undefined && (
            <label class="field">
              Batch
              <input
                class="input"
                value={name}
                placeholder="default"
                onInput={(event) => setName(event.currentTarget.value)}
              />
            </label>
          )}
          <label class="field is-short">
            At once, at most
            <input
              class="input"
              inputMode="numeric"
              pattern="[0-9]*"
              value={atOnce}
              placeholder="as fits"
              disabled={!isStarted}
              onInput={(event) => setAtOnce(event.currentTarget.value)}
            />
          </label>
          <label class="check">
            <input type="checkbox" checked={isStarted} onChange={() => setStarted(!isStarted)} /> Start at
            once
          </label>
          <span class="spring" />
          <button type="submit" class="button is-main" disabled={isBusy}>
            {isStarted ? 'Add and start' : 'Add'}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** What is wrong with the fields of the only task. */
function taskFaults({ faults }: ApiError): Faults {
  return new Map(Array.from(faults, ([pointer, text]) => [pointer.replace(/^\/tasks\/0/, ''), text]));
}

/** Adds to a batch, which is created if it does not exist; a running one takes the tasks by itself. */
function send(
  name: string | undefined,
  draft: BatchDraft,
  isStarted: boolean,
  atOnce: string,
): Promise<Batch> {
  const { batch: _, tasks, ...own } = draft;
  const start = { ...own, ...(atOnce !== '' && { max_concurrent: Number(atOnce) }) };
  const body = { ...(name !== undefined && { batch: name }), tasks, ...(isStarted && { start }) };
  const json = JSON.stringify(body);
  if (sent.body !== json) sent = { body: json, key: randomKey() };
  return post<Batch>('batches', body, sent.key);
}
