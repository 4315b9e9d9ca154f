import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { printableText } from '../../../../src/core/printable-text.ts';
import { ApiError, get, post } from '../../api/http.ts';
import { may } from '../../api/session.ts';
import type { Subtask, SubtaskDiff } from '../../api/wire.ts';
import { act } from '../../ui/actions.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icons.tsx';
import { useWindow } from '../executions/use-window.ts';
import { featurePath } from './board-page.tsx';

interface DiffProps {
  readonly feature: string;
  readonly subtask: Subtask;
  readonly again: () => void;
}

/** The work that waits for review. What is approved is the commit that was shown, and no other. */
export function DiffView({ feature, subtask, again }: DiffProps): JSX.Element {
  const path = `${featurePath(feature)}/subtasks/${encodeURIComponent(subtask.seq)}`;
  const [diff, setDiff] = useState<SubtaskDiff>();
  const [error, setError] = useState<ApiError>();
  const commit = subtask.review?.commit;
  useEffect(() => {
    const stop = new AbortController();
    setDiff(undefined);
    setError(undefined);
    get<SubtaskDiff>(`${path}/diff`, {}, stop.signal).then(setDiff, (problem: unknown) => {
      if (stop.signal.aborted) return;
      if (!(problem instanceof ApiError)) throw problem;
      setError(problem);
    });
    return () => stop.abort();
  }, [path, commit]);
  if (error !== undefined)
    return (
      <p class="problem" role="alert">
        {error.text}
      </p>
    );
  if (diff === undefined) return <p class="quiet">Reading the diff…</p>;
  return (
    <div class="log">
      <section class="diff-files" tabIndex={0} aria-label="Changed files">
        <ul>
          {diff.files.slice(0, 200).map((file) => (
            <li key={file.path}>
              <span class="mono">{file.path}</span> <span class="is-added">+{file.added ?? '?'}</span>{' '}
              <span class="is-removed">−{file.removed ?? '?'}</span>
            </li>
          ))}
        </ul>
      </section>
      {diff.truncated && (
        <p class="quiet">The diff is too long. The rest of it is on the branch {diff.branch}.</p>
      )}
      <DiffLines text={diff.diff} />
      {may('admin') && <Decision path={path} commit={diff.commit} subtask={subtask} again={again} />}
    </div>
  );
}

/** The reviewer sees what a compiler sees: characters that change the direction of a string are shown as such. */
function DiffLines({ text }: { text: string }): JSX.Element {
  const lines = useMemo(() => text.replace(/\n$/, '').split('\n'), [text]);
  const ref = useRef<HTMLElement>(null);
  const { rowHeight, first, end } = useWindow(ref, lines.length);
  return (
    <section class="log-scroll diff" ref={ref} tabIndex={0} aria-label="Diff">
      <div class="log-space" style={{ height: `${lines.length * rowHeight}px` }}>
        <div style={{ transform: `translateY(${first * rowHeight}px)` }}>
          {lines.slice(first, end).map((line, index) => (
            <div key={first + index} class={`log-row ${kindOf(line)}`}>
              {printableText(line)}
            </div>
          ))}
        </div>
      </div>
    </section>
  );
}

function kindOf(line: string): string {
  if (/^(?:diff |index |\+\+\+ |--- |new file|deleted file|similarity|rename )/.test(line)) return 'is-head';
  if (line.startsWith('@@')) return 'is-place';
  if (line.startsWith('+')) return 'is-added';
  return line.startsWith('-') ? 'is-removed' : '';
}

interface DecisionProps extends Pick<DiffProps, 'subtask' | 'again'> {
  readonly path: string;
  readonly commit: string;
}

function Decision({ path, commit, subtask, again }: DecisionProps): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const [isRejecting, setRejecting] = useState(false);
  const { seq } = subtask;
  const approve = async () => {
    setBusy(true);
    await act(async () => {
      await post(`${path}/approve`, { commit });
      return `${seq} is merged.`;
    });
    setBusy(false);
    again();
  };
  const isApproved = subtask.review?.approved === true;
  return (
    <div class="actions">
      <button
        type="button"
        class="button is-main"
        disabled={isBusy || isApproved}
        onClick={() => {
          if (window.confirm(`Merge the work on ${seq} into the project?`)) void approve();
        }}
      >
        {isBusy || isApproved ? 'Merging…' : 'Approve and merge'}
      </button>
      <button type="button" class="button" disabled={isBusy || isApproved} onClick={() => setRejecting(true)}>
        <Icon name="retry" /> Reject
      </button>
      {isRejecting && (
        <RejectDialog path={path} commit={commit} seq={seq} again={again} close={() => setRejecting(false)} />
      )}
    </div>
  );
}

interface RejectProps extends Pick<DecisionProps, 'path' | 'commit' | 'again'> {
  readonly seq: string;
  readonly close: () => void;
}

function RejectDialog({ path, commit, seq, again, close }: RejectProps): JSX.Element {
  const [why, setWhy] = useState('');
  const [isBusy, setBusy] = useState(false);
  const reject = async () => {
    setBusy(true);
    const isDone = await act(async () => {
      await post(`${path}/reject`, { commit, why });
      return `${seq} was sent back.`;
    });
    setBusy(false);
    again();
    if (isDone) close();
  };
  return (
    <Dialog title={`Reject the work on ${seq}`} close={close}>
      <form
        class="complete-form"
        onSubmit={(event) => {
          event.preventDefault();
          void reject();
        }}
      >
        <p class="quiet">The next attempt continues in the same worktree and is given your reason.</p>
        <label class="field">
          What must be different
          <textarea
            class="input"
            required
            maxLength={10_000}
            value={why}
            onInput={(event) => setWhy(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="button is-main" disabled={isBusy}>
          Reject
        </button>
      </form>
    </Dialog>
  );
}
