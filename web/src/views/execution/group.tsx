import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { numberText } from '../../../../src/cli/output/numbers.ts';
import { countText, spanText } from '../../../../src/core/words.ts';
import type { ExecutionDetail } from '../../api/wire.ts';
import { countItems, doneText, ITEM_NOUN, totalOf } from '../../model/groups.ts';
import { byUrgency } from '../../model/order.ts';
import type { Row } from '../../model/row.ts';
import { hasEnded, STATUS_TEXT, STATUSES, shownStatus } from '../../model/status.ts';
import { titleOf } from '../../model/text.ts';
import type { OpenBatch } from '../../store/state.ts';
import { useThrottled } from '../../ui/clock.ts';
import { StatusIcon } from '../../ui/icons.tsx';
import { selectTask } from '../../ui/route.ts';

const MOST = 8;
const COUNT_MS = 400;

/** Of a group, how its items stand, and those first that need a look; of an item, its group. */
export function Group({ open, row }: { open: OpenBatch; row: Row }): JSX.Element | null {
  if (row.group !== null) return <GroupLink open={open} id={row.group} />;
  return row.group_kind === null ? null : <Items open={open} row={row} />;
}

function Items({ open, row }: { open: OpenBatch; row: Row }): JSX.Element | null {
  const rows = useThrottled(open.rows, COUNT_MS);
  const items = useMemo(() => rows.filter(({ group }) => group === row.id), [rows, row.id]);
  const counts = useMemo(() => countItems(items).get(row.id), [items]);
  const first = useMemo(() => byUrgency(items, MOST), [items]);
  if (counts === undefined) return null;
  const [, noun] = ITEM_NOUN[row.group_kind!];
  const heading = noun[0]!.toUpperCase() + noun.slice(1);
  return (
    <section>
      <h3>
        {heading} <small>{hasEnded(row.status) ? numberText(totalOf(counts)) : doneText(row, counts)}</small>
      </h3>
      <ul class="item-counts">
        {STATUSES.filter((status) => counts[status] > 0).map((status) => (
          <li key={status}>
            <StatusIcon status={status} /> <b>{numberText(counts[status])}</b>{' '}
            {STATUS_TEXT[status].toLowerCase()}
          </li>
        ))}
      </ul>
      <ul class="task-links">
        {first.map((item) => (
          <li key={item.id}>
            <button type="button" class="link" onClick={() => selectTask(item.id)}>
              <StatusIcon status={shownStatus(item)} />
              {titleOf(item)}
            </button>{' '}
            {item.status === 'failed' && (
              <span class="item-note" title={item.message ?? ''}>
                {item.message ?? item.reason}
              </span>
            )}
          </li>
        ))}
      </ul>
      {items.length > MOST && <p class="quiet">and {numberText(items.length - MOST)} more, in the table</p>}
    </section>
  );
}

function GroupLink({ open, id }: { open: OpenBatch; id: string }): JSX.Element {
  const group = open.rows[open.places.get(id) ?? -1];
  return (
    <section>
      <h3>Part of the group</h3>
      <button type="button" class="link" onClick={() => selectTask(id)}>
        {group !== undefined && <StatusIcon status={shownStatus(group)} />}
        {group === undefined ? id : titleOf(group)}
      </button>
    </section>
  );
}

/** The expressions that decide whether, how often and on what it runs. */
export function Expressions({ detail }: { detail: ExecutionDetail }): JSX.Element | null {
  const { when, for_each: forEach, repeat, max_concurrent: max, on_item_error: onError } = detail;
  const list = typeof forEach === 'string' ? forEach : JSON.stringify(forEach, null, 2);
  const until = repeat?.until ?? undefined;
  const notes = [
    repeat && `at most ${countText(repeat.max, 'round')}`,
    repeat?.delay_ms && `${spanText(repeat.delay_ms)} between two`,
    max !== null && `at most ${numberText(max)} at once`,
    onError === 'null' && 'null in place of a failed one',
  ].filter(Boolean);
  return (
    <>
      <Expression title="Only when" text={when ?? undefined} />
      <Expression title="For each" text={forEach == null ? undefined : list} />
      <Expression title="Repeat until" text={until} />
      {notes.length > 0 && <p class="quiet">{notes.join(', ')}</p>}
    </>
  );
}

function Expression({ title, text }: { title: string; text: string | undefined }): JSX.Element | null {
  if (text === undefined) return null;
  return (
    <section>
      <h3>{title}</h3>
      <pre class="data" tabIndex={0}>
        {text}
      </pre>
    </section>
  );
}
