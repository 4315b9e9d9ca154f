import type { FileHandle } from 'node:fs/promises';
import type { TaskStatus } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import { replaceFile } from '../../tools/builtin/replace-file.ts';
import type { Roots } from '../../tools/builtin/roots.ts';
import { exportFailed } from './export-failed.ts';
import { exportPieces } from './export-pieces.ts';
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

/** Writes results to a file, which is replaced as a whole when all of them are in it. */
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
  // The first and the last are no tasks.
  return { tasks: pieces - 2, bytes: file.bytes };
}

/** Gathers small pieces, so that the system is not called for each. */
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
