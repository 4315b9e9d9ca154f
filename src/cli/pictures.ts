import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { taskPages } from '../batch/context.ts';
import { exportFailed } from '../batch/export/write-export.ts';
import { VolleyError } from '../core/errors.ts';
import { printableLine } from '../core/printable-text.ts';
import type { Store } from '../store/store.ts';
import type { FinishedTask } from './drawing/finished-task.ts';
import { ganttSvg } from './drawing/gantt.ts';
import { graphDrawerFor } from './drawing/graph-file.ts';
import { traceJson } from './drawing/trace.ts';
import type { Io } from './io.ts';
import { reportError } from './report.ts';
import { writePicture } from './write-picture.ts';

/** Files that show what happened, if they are asked for. */
export interface PictureOptions {
  readonly trace?: string;
  readonly gantt?: string;
  readonly graph?: string;
}

type Picture = (batch: string, tasks: readonly FinishedTask[]) => string;

/** Which pictures are asked for, by path. Ask before anything runs: a name that nothing can be drawn for is an error. */
export function picturesOf({ trace, gantt, graph }: PictureOptions): Map<string, Picture> {
  const pictures = new Map<string, Picture>();
  if (trace !== undefined) pictures.set(trace, traceJson);
  if (gantt !== undefined) pictures.set(gantt, ganttSvg);
  if (graph !== undefined) pictures.set(graph, graphDrawerFor(graph));
  return pictures;
}

/** Throws if one could never be written where it is asked for. Ask before anything runs, too. */
export function checkFolders(pictures: ReadonlyMap<string, Picture>, { cwd }: Io): void {
  for (const path of pictures.keys()) {
    const place = resolve(cwd, path);
    if (isFolder(place)) throw cannotWrite(path, 'it is a folder');
    // Folders that are not there yet are made in the end: what runs may make them, too.
    if (/^~\//.test(path) && !existsSync(resolve(cwd, '~')))
      throw cannotWrite(path, 'there is no folder "~" here');
    let above = dirname(place);
    while (!existsSync(above)) above = dirname(above);
    if (!isFolder(above)) throw cannotWrite(path, 'a file is where its folder would be');
  }
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

function cannotWrite(path: string, why: string): VolleyError {
  return new VolleyError(
    'INVALID_VALUE',
    `Cannot write ${JSON.stringify(path)}: ${why}. Nothing was started.`,
  );
}

async function triesOf(store: Store, batch: string, id: string): Promise<NonNullable<FinishedTask['tries']>> {
  return (await store.attemptsOf(batch, id)).map(({ startedAt, endedAt = startedAt, durationMs }) => ({
    startMs: startedAt,
    endMs: durationMs === undefined ? endedAt : startedAt + durationMs,
  }));
}

/** Tells of each whether it was written, and answers whether all were: the batch has run, whatever becomes of them. */
export async function drawPictures(
  pictures: ReadonlyMap<string, Picture>,
  store: Store,
  batch: string,
  io: Io,
): Promise<boolean> {
  if (pictures.size === 0) return true;
  const tasks: FinishedTask[] = [];
  for await (const page of taskPages(store, batch)) {
    for (const {
      id,
      name,
      function: tool,
      status,
      startedAt,
      endedAt,
      durationMs,
      attempts,
      options,
    } of page) {
      const { dependsOn = [] } = options;
      tasks.push({
        id,
        name,
        function: tool,
        status,
        startMs: startedAt,
        endMs: endedAt,
        durationMs,
        ...(attempts > 1 && { tries: await triesOf(store, batch, id) }),
        attempts,
        dependsOn,
      });
    }
  }
  let areWritten = true;
  for (const [path, draw] of pictures) {
    const text = draw(batch, tasks);
    try {
      await writePicture(resolve(io.cwd, path), text);
      io.stderr.write(`Wrote ${printableLine(path)}\n`);
    } catch (error) {
      areWritten = false;
      reportError(exportFailed(path, error), {}, io);
    }
  }
  return areWritten;
}
