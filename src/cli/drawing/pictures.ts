import { existsSync, statSync } from 'node:fs';
import { realpath, stat, writeFile } from 'node:fs/promises';
import { dirname, extname, resolve } from 'node:path';
import { taskPages } from '../../batch/context.ts';
import { exportFailed } from '../../batch/export/write-export.ts';
import { writeAtomically } from '../../config/atomic-write.ts';
import { VolleyError } from '../../core/errors.ts';
import { printableLine } from '../../core/printable-text.ts';
import { makeFolder } from '../../store/make-folder.ts';
import { isGroup, type TaskRecord } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import type { Io } from '../output/io.ts';
import { reportError } from '../output/messages.ts';
import type { FinishedTask } from './task-graph.ts';

/** Paths of the pictures to draw after a run. */
export interface PictureOptions {
  readonly trace?: string;
  readonly gantt?: string;
  readonly graph?: string;
}

/** What draws is loaded when it draws: most runs have no picture. */
type Draw = (batch: string, tasks: readonly FinishedTask[]) => Promise<string>;
type Pictures = ReadonlyMap<string, Draw>;

const GRAPH_FORMATS: Readonly<Record<string, Draw>> = {
  '.svg': async (batch, tasks) => (await import('./graph-svg.ts')).graphSvg(batch, tasks),
  '.mmd': async (batch, tasks) => (await import('./graph-text.ts')).graphMermaid(batch, tasks),
  '.dot': async (batch, tasks) => (await import('./graph-text.ts')).graphDot(batch, tasks),
};

/** Chooses how to draw each picture. Throws for a graph of an unknown format. */
export function choosePictures({ trace, gantt, graph }: PictureOptions): Pictures {
  const pictures = new Map<string, Draw>();
  if (trace !== undefined)
    pictures.set(trace, async (batch, tasks) => (await import('./trace.ts')).traceJson(batch, tasks));
  if (gantt !== undefined)
    pictures.set(gantt, async (batch, tasks) => (await import('./gantt.ts')).ganttSvg(batch, tasks));
  if (graph !== undefined) pictures.set(graph, graphDrawer(graph));
  return pictures;
}

export function graphDrawer(path: string): Draw {
  const draw = GRAPH_FORMATS[extname(path).toLowerCase()];
  if (draw !== undefined) return draw;
  const known = Object.keys(GRAPH_FORMATS).join(', ');
  throw new VolleyError(
    'INVALID_VALUE',
    `Unknown graph format ${JSON.stringify(path)}: the file name must end in ${known}.`,
    { path },
  );
}

/** Throws if a picture could never be written. Called before anything runs. */
export function checkPictures(pictures: Pictures, { cwd }: Pick<Io, 'cwd'>): void {
  for (const path of pictures.keys()) {
    const place = resolve(cwd, path);
    if (isFolder(place)) throw cannotWrite(path, 'it is a folder');
    // Missing folders are created at the end, since the tasks may create them.
    if (/^~\//.test(path) && !existsSync(resolve(cwd, '~')))
      throw cannotWrite(path, 'there is no folder "~" here');
    let above = dirname(place);
    while (!existsSync(above)) above = dirname(above);
    if (!isFolder(above)) throw cannotWrite(path, `${JSON.stringify(above)} is a file, not a folder`);
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

/** Draws the pictures of a batch that has run, and returns whether all of them could be written. */
export async function drawPictures(
  pictures: Pictures,
  store: Store,
  batch: string,
  io: Io,
): Promise<boolean> {
  if (pictures.size === 0) return true;
  const tasks: FinishedTask[] = [];
  for await (const page of taskPages(store, batch)) {
    for (const task of page) tasks.push(await finishedTask(store, batch, task));
  }
  let areWritten = true;
  for (const [path, draw] of pictures) {
    const text = await draw(batch, tasks);
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

async function finishedTask(store: Store, batch: string, task: TaskRecord): Promise<FinishedTask> {
  const { id, name, function: tool, status, startedAt, endedAt, durationMs, attempts, options } = task;
  const tries = async () =>
    (await store.attemptsOf(batch, id)).map((attempt) => {
      const { startedAt: startMs, endedAt: end = startMs, durationMs: length } = attempt;
      return { startMs, endMs: length === undefined ? end : startMs + length };
    });
  return {
    ...{ id, name, function: tool, status, durationMs, attempts },
    startMs: startedAt,
    endMs: endedAt,
    dependsOn: options.dependsOn ?? [],
    isGroup: isGroup(options),
    group: options.item?.group,
    ...(attempts > 1 && { tries: await tries() }),
  };
}

async function writePicture(place: string, text: string): Promise<void> {
  makeFolder(dirname(place));
  const before = await stat(place).catch(() => undefined);
  if (before === undefined) writeAtomically(place, text);
  // A link stays a link.
  else if (before.isFile()) writeAtomically(await realpath(place), text, { mode: before.mode & 0o777 });
  // A device or a pipe cannot be replaced.
  else await writeFile(place, text);
}
