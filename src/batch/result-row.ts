import { isGroup, type TaskRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { TaskCounts } from './counts.ts';
import { spendingFields } from './run/spending.ts';

/** A task and how it ended, without its result. */
export interface ResultRow {
  readonly id: string;
  readonly name: string;
  readonly function: string;
  readonly status: string;
  readonly attempts: number;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  /** The total duration of its attempts, without the pauses between them. */
  readonly duration_ms: number | null;
  /** Only if its last attempt was placed on a worker: the name of that. */
  readonly worker?: string;
  /** Only if its last attempt was measured in processes: the peak of its memory, and its CPU time. */
  readonly memory_mb?: number;
  readonly cpu_ms?: number;
  /** Only if it called models or agents: what that cost, over all attempts. */
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cost_usd?: number;
  /** Only of failed tasks. */
  readonly reason: string | null;
  readonly code: string | null;
  /** Only of failed and cancelled tasks. */
  readonly message: string | null;
  /** Only of skipped tasks: the id of the root cause. */
  readonly cause: string | null;
  /** Only of tasks whose result came from the cache. */
  readonly cached?: true;
  /** Only of items: the id of the group, and the place in it from 0. */
  readonly group?: string;
  readonly index?: number;
  /** Possible mistakes in its arguments. */
  readonly warnings?: readonly string[];
}

export function rowOf(record: TaskRecord): ResultRow {
  const {
    id,
    name,
    function: tool,
    status,
    attempts,
    startedAt,
    endedAt,
    reason,
    code,
    message,
    cause,
    options: { item, warnings },
  } = record;
  return {
    id,
    name,
    function: tool,
    status,
    attempts,
    started_at: timeOf(startedAt),
    ended_at: timeOf(endedAt),
    duration_ms: record.durationMs ?? null,
    ...(record.worker !== undefined && { worker: record.worker }),
    ...usageFields(record),
    ...costFields(record),
    reason: reason ?? null,
    code: code ?? null,
    message: message ?? null,
    cause: cause ?? null,
    ...(record.cached && { cached: true }),
    ...(item !== undefined && { group: item.group, index: item.index }),
    ...(warnings !== undefined && { warnings }),
  };
}

/** What a task used in processes, if that was measured. */
export function usageFields({ usage }: TaskRecord): { memory_mb?: number; cpu_ms?: number } {
  if (usage === undefined) return {};
  const { memoryMb, cpuMs } = usage;
  return {
    ...(memoryMb !== undefined && { memory_mb: Math.ceil(memoryMb) }),
    ...(cpuMs !== undefined && { cpu_ms: Math.round(cpuMs) }),
  };
}

/** What the calls of models and agents by a task cost. */
export function costFields({
  spending,
}: TaskRecord): Pick<ResultRow, 'input_tokens' | 'output_tokens' | 'cost_usd'> {
  if (spending === undefined) return {};
  const { calls: _, ...fields } = spendingFields(spending);
  return fields;
}

/** Returns the beginning of a result as JSON, and whether it is complete. */
export function beginOfResult(record: TaskRecord, length: number): { text: string; isWhole: boolean } {
  const { preview = '', resultBytes = 0 } = record;
  const isWhole = preview.length <= length && Buffer.byteLength(preview) === resultBytes;
  return isWhole ? { text: preview, isWhole } : { text: `${preview.slice(0, length)}…`, isWhole };
}

/** Groups on a page whose items are counted. */
const MAX_COUNTED = 50;

/** Returns how many items of each group have each status, by the number of the group. */
export async function itemCountsOf(
  store: Pick<Store, 'itemCounts'>,
  records: readonly TaskRecord[],
): Promise<ReadonlyMap<number, TaskCounts>> {
  const groups = records.filter(({ options }) => isGroup(options)).slice(0, MAX_COUNTED);
  const counted = groups.map(async ({ batch, seq }) => [seq, await store.itemCounts(batch, seq)] as const);
  return new Map(await Promise.all(counted));
}

/** Returns tasks of one batch with their results, or with the beginnings of large ones. */
export async function rowsWithResults(
  store: Store,
  batch: string,
  records: readonly TaskRecord[],
  items: ReadonlyMap<number, TaskCounts>,
  maxBytes: number,
): Promise<object[]> {
  const short = records.filter(
    ({ status, resultBytes = 0 }) => status === 'completed' && resultBytes <= maxBytes,
  );
  const results = await store.results(
    batch,
    short.map(({ id }) => id),
  );
  return records.map((record) => ({
    ...rowOf(record),
    ...(items.has(record.seq) && { items: items.get(record.seq) }),
    ...boundedResult(record, results.get(record.id), maxBytes),
  }));
}

function boundedResult(record: TaskRecord, text: string | undefined, maxBytes: number): object {
  if (record.status !== 'completed') return {};
  if (text !== undefined) return { result: JSON.parse(text) };
  return { result_preview: beginOfResult(record, maxBytes).text, result_bytes: record.resultBytes ?? 0 };
}

function timeOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
