import type { FileHandle } from 'node:fs/promises';
import { ASK_AGENT, ASK_MODEL } from '../../core/ask-tools.ts';
import { VolleyError } from '../../core/errors.ts';
import type { TaskRecord, TaskStatus } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import { codeOf, fileFailure } from '../../tools/builtin/refusal.ts';
import { replaceFile } from '../../tools/builtin/replace-file.ts';
import type { Roots } from '../../tools/builtin/roots.ts';
import { taskPages } from '../context.ts';
import { beginOfResult, rowOf } from '../result-row.ts';
import type { ExportFormat } from './formats.ts';

export interface ExportRequest {
  readonly store: Store;
  readonly batch: string;
  readonly status: readonly TaskStatus[] | undefined;
  readonly format: ExportFormat;
  readonly roots: Roots;
  readonly path: string;
}

const CHUNK = 65_536;
const MAX_INSPECTED = 100;
const MAX_FIELDS = 100;

/** Writes results to a file, which is replaced atomically. */
export async function writeExport(request: ExportRequest): Promise<{ tasks: number; bytes: number }> {
  const { roots, path } = request;
  const options = { createDirectories: false, signal: new AbortController().signal };
  let written = { tasks: 0, bytes: 0 };
  try {
    await replaceFile(roots, path, options, async (handle) => {
      written = await writeTasks(request, new ChunkWriter(handle));
    });
  } catch (error) {
    throw exportFailed(path, error);
  }
  return written;
}

async function writeTasks(
  { store, batch, status, format }: ExportRequest,
  file: ChunkWriter,
): Promise<{ tasks: number; bytes: number }> {
  let pieces = 0;
  for await (const piece of exportPieces(store, batch, status, format)) {
    pieces++;
    await file.write(piece);
  }
  await file.flush();
  // The first and the last piece are not tasks.
  return { tasks: pieces - 2, bytes: file.bytes };
}

/** Buffers small pieces to save system calls. */
class ChunkWriter {
  bytes = 0;
  private chunk = '';

  constructor(private readonly handle: FileHandle) {}

  async write(text: string): Promise<void> {
    this.chunk += text;
    if (this.chunk.length >= CHUNK) await this.flush();
  }

  async flush(): Promise<void> {
    const data = Buffer.from(this.chunk);
    this.chunk = '';
    this.bytes += data.length;
    for (let from = 0; from < data.length; )
      from += (await this.handle.write(data, from, data.length - from)).bytesWritten;
  }
}

/** All tasks of a batch with their results, piece by piece; each piece but the first and the last is a task. */
export async function* exportPieces(
  store: Store,
  batch: string,
  status: readonly TaskStatus[] | undefined,
  format: ExportFormat,
): AsyncGenerator<string, void, undefined> {
  let tasks = 0;
  const answers = answerFields(await store.tasks(batch, { limit: MAX_INSPECTED }));
  yield format.begin(batch, answers);
  for await (const page of taskPages(store, batch, status)) {
    for (const record of page) {
      // Most results are short and stored with their task, so there is nothing to await.
      const result = resultOf(store, record);
      yield format.row(rowOf(record), typeof result === 'object' ? await result : result, tasks++, answers);
    }
  }
  yield format.end();
}

/** The top-level fields of answers, by the schemas of the first tasks: the tasks of a batch usually have the same. */
function answerFields(records: readonly TaskRecord[]): string[] {
  const fields = new Set<string>();
  for (const { function: tool, params } of records) {
    if (tool !== ASK_AGENT && tool !== ASK_MODEL) continue;
    const { schema } = JSON.parse(params) as { schema?: { properties?: unknown } };
    const properties = schema?.properties;
    if (typeof properties !== 'object' || properties === null) continue;
    for (const field of Object.keys(properties)) if (fields.size < MAX_FIELDS) fields.add(field);
  }
  return [...fields];
}

function resultOf(store: Store, record: TaskRecord): string | undefined | Promise<string | undefined> {
  if (record.status !== 'completed') return undefined;
  const { text, isWhole } = beginOfResult(record, Number.POSITIVE_INFINITY);
  return isWhole ? text : store.result(record.batch, record.id);
}

const FOLDER = 'Create its folder first, or choose another file.';
const PERMISSION = 'Choose a writable folder, or change its permissions.';
const SPACE = 'Free some space, or choose a file on another disk.';

/** What the user can do, by system error. */
const REMEDIES: Readonly<Record<string, string>> = {
  ENOENT: FOLDER,
  ENOTDIR: FOLDER,
  EACCES: PERMISSION,
  EPERM: PERMISSION,
  EROFS: PERMISSION,
  ENOSPC: SPACE,
  EDQUOT: SPACE,
  EFBIG: SPACE,
};

/** The error for a file that could not be written. */
export function exportFailed(path: string, error: unknown): VolleyError {
  if (error instanceof VolleyError) return error;
  const { message } = fileFailure('write', path, error);
  const remedy = REMEDIES[codeOf(error) ?? ''] ?? 'Choose another file.';
  return new VolleyError('EXPORT_FAILED', `${message} ${remedy}`, { path }, { cause: error });
}
