import { readFileSync, statSync } from 'node:fs';
import type { VolleyConfig } from '../../config/config.ts';
import { VolleyError } from '../../core/errors.ts';
import { isReservedLabel, type Labels, WORKER_LABEL } from '../../core/labels.ts';
import type { WorkerSpec } from '../../core/placement.ts';
import { RESOURCE_TABLE } from '../../core/resource-table.ts';
import type { Io } from '../output/io.ts';
import { clusterSettings } from './cluster.ts';

const MAX_WORKERS = 1000;
const MAX_FILE_BYTES = 65_536;
/** The fields of a worker's capacity by their names in text. */
export const CAPACITIES: ReadonlyMap<string, string> = new Map<string, string>([
  ['max_concurrency', 'concurrency'],
  ...RESOURCE_TABLE.map(({ configKey, name }) => [configKey, name] as const),
]);

/** The workers to plan for: those of a cluster, or others. Undefined to plan for this machine. */
export async function workersToPlanFor(
  config: VolleyConfig,
  { on, workers }: { readonly on?: string; readonly workers?: string },
  io: Pick<Io, 'env'>,
): Promise<readonly WorkerSpec[] | undefined> {
  if (on !== undefined && workers !== undefined)
    throw new VolleyError('INVALID_VALUE', 'Use either --on or --workers.');
  if (workers !== undefined) return parseWorkers(isFile(workers) ? textOf(workers) : workers);
  if (on === undefined) return undefined;
  const settings = clusterSettings(config, on, io);
  const { listWorkers } = await import('../../cluster/list-workers.ts');
  const found = (await listWorkers(settings)).workers.filter(({ state }) => state === 'ready');
  if (found.length === 0)
    throw new VolleyError('INVALID_VALUE', 'The cluster has no workers. Start one, or use --workers.');
  const byName = new Map(found.map(({ name, capacity, labels }) => [name, { id: name, capacity, labels }]));
  return [...byName.values()];
}

/** Reads `4x cpu=8,memory_mb=16000,gpu=1`; kinds of workers are separated by semicolons or line ends. */
export function parseWorkers(text: string): WorkerSpec[] {
  const workers: WorkerSpec[] = [];
  for (const part of text.split(/[;\n]/)) {
    const kind = part.trim();
    if (kind === '') continue;
    const [, times, rest] = /^(?:(\d{1,6})\s*x(?:\s+|$))?(.*)$/.exec(kind)!;
    const { capacity, labels } = offerOf(rest!);
    const count = Number(times ?? 1);
    if (count < 1 || workers.length + count > MAX_WORKERS)
      throw invalid(`there must be 1 to ${MAX_WORKERS} workers`);
    for (let index = 0; index < count; index++) {
      const id = `w${workers.length + 1}`;
      workers.push({ id, capacity, labels: { ...labels, [WORKER_LABEL]: id } });
    }
  }
  if (workers.length === 0) throw invalid('it lists no worker');
  return workers;
}

function offerOf(text: string): { capacity: NonNullable<WorkerSpec['capacity']>; labels: Labels } {
  const capacity: Record<string, number> = {};
  const resources: Record<string, number> = {};
  const labels: Record<string, string | boolean> = {};
  for (const pair of text.split(',')) {
    if (pair.trim() === '') continue;
    const [, name, value] = /^\s*([^=\s]+)\s*=\s*(\S.*?)\s*$/.exec(pair) ?? [];
    if (name === undefined || value === undefined)
      throw invalid(`${JSON.stringify(pair)} is not of the form name=value`);
    const known = CAPACITIES.get(name);
    const amount = Number(value);
    if (known !== undefined && !(amount > 0)) throw invalid(`${name} must be a positive number`);
    if (known === undefined && isReservedLabel(name)) throw invalid(`the label ${name} is set by Volley`);
    if (known !== undefined) capacity[known] = amount;
    else if (Number.isFinite(amount)) resources[name] = amount;
    else labels[name] = value === 'true' || value === 'false' ? value === 'true' : value;
  }
  return { capacity: { ...capacity, resources }, labels };
}

function isFile(text: string): boolean {
  return statSync(text, { throwIfNoEntry: false })?.isFile() === true;
}

function textOf(file: string): string {
  if (statSync(file).size > MAX_FILE_BYTES) throw invalid(`${file} has more than ${MAX_FILE_BYTES} bytes`);
  return readFileSync(file, 'utf8');
}

function invalid(why: string): VolleyError {
  return new VolleyError(
    'INVALID_VALUE',
    `--workers takes a file or text such as "4x cpu=8,memory_mb=16000,gpu=1", but ${why}.`,
  );
}
