import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Row } from '../../model/row.ts';
import { shownStatus } from '../../model/status.ts';
import { titleOf } from '../../model/text.ts';
import type { OpenBatch } from '../../store/state.ts';
import { StatusIcon } from '../../ui/icons.tsx';
import { selectTask } from '../../ui/route.ts';

const MOST = 12;

/** What it depends on, and what depends on it. */
export function Neighbours({ open, id }: { open: OpenBatch; id: string }): JSX.Element | null {
  const { rows, places } = open;
  const before = rows[places.get(id) ?? -1]?.depends_on ?? [];
  const after = useMemo(
    () => rows.filter(({ depends_on }) => depends_on.includes(id)).map((row) => row.id),
    [places, id],
  );
  const rowOf = (one: string) => rows[places.get(one) ?? -1];
  return (
    <>
      <Tasks title="Depends on" ids={before} rowOf={rowOf} />
      <Tasks title="Needed by" ids={after} rowOf={rowOf} />
    </>
  );
}

function Tasks(props: {
  title: string;
  ids: readonly string[];
  rowOf: (id: string) => Row | undefined;
}): JSX.Element | null {
  const { title, ids, rowOf } = props;
  if (ids.length === 0) return null;
  return (
    <section>
      <h3>
        {title} <small>{ids.length}</small>
      </h3>
      <ul class="task-links">
        {ids.slice(0, MOST).map((id) => {
          const row = rowOf(id);
          return (
            <li key={id}>
              <button type="button" class="link" onClick={() => selectTask(id)}>
                {row !== undefined && <StatusIcon status={shownStatus(row)} />}
                {row === undefined ? id : titleOf(row)}
              </button>
            </li>
          );
        })}
      </ul>
      {ids.length > MOST && <p class="quiet">and {ids.length - MOST} more</p>}
    </section>
  );
}
