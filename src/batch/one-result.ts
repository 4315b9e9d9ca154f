import type { TaskRecord, TaskStatus } from '../store/records.ts';
import type { ResultRange, Store } from '../store/store.ts';
import type { ActionResult } from './answer.ts';
import { taskText } from './names.ts';
import { rowOf } from './result-row.ts';
import { bytesText, linesText } from './text.ts';

/** So much of a result is given where no range is asked for. */
const DEFAULT_BYTES = 65_536;

const STANDING: Readonly<Record<Exclude<TaskStatus, 'completed'>, string>> = {
  open: 'is open',
  running: 'is running',
  failed: 'has failed',
  cancelled: 'was cancelled',
  skipped: 'was skipped',
};

/** One result as a whole, or the part of it that was asked for. */
export async function oneResult(
  store: Store,
  record: TaskRecord,
  range: ResultRange | undefined,
): Promise<ActionResult> {
  const row = rowOf(record);
  if (record.status !== 'completed') {
    const why = record.message ?? (record.cause === undefined ? undefined : `because of ${record.cause}`);
    const standing = `${taskText(record)} ${STANDING[record.status]}, so it has no result`;
    return {
      text: why === undefined ? `${standing}.` : `${standing}: ${why}`,
      data: { ...row },
    };
  }
  const { resultBytes = 0 } = record;
  const { offset, length } = range ?? { offset: 0, length: DEFAULT_BYTES };
  const part = (await store.result(record.batch, record.id, { offset, length })) ?? '';
  const end = Math.min(resultBytes, offset + length);
  const isWhole = offset === 0 && end === resultBytes;
  return {
    text: linesText(
      isWhole
        ? `The result of ${taskText(record)}:`
        : offset >= resultBytes
          ? `The result of ${taskText(record)} has ${bytesText(resultBytes)}: there is nothing from ${offset} on.`
          : `Bytes ${offset} to ${end} of the result of ${taskText(record)}, which has ${bytesText(resultBytes)}:`,
      part === '' ? undefined : part,
      end < resultBytes ? `The next part begins at "offset": ${end}.` : undefined,
      row.warnings?.map((warning) => `Warning: ${warning}`),
    ),
    data: {
      ...row,
      result_bytes: resultBytes,
      ...(isWhole ? { result: JSON.parse(part) } : { part, offset, length: Math.max(0, end - offset) }),
      ...(end < resultBytes && { next_offset: end }),
    },
  };
}
