import { setTimeout as sleep } from 'node:timers/promises';
import { addBatchAction } from '../../batch/actions/add-batch.ts';
import { findBatch } from '../../batch/context.ts';
import { checkInput } from '../../batch/input/check.ts';
import { VolleyError } from '../../core/errors.ts';
import { printableLine } from '../../core/printable-text.ts';
import { listText } from '../../core/words.ts';
import { batchOfFile, changedIds, collectTasks, newTasks, type RunTasks } from '../input/collect-tasks.ts';
import { LargeTaskFile } from '../input/large-file.ts';
import { locateErrors, locateInAnswer } from '../input/problem-places.ts';
import type { PlainObject } from '../input/task-file.ts';
import type { ExitStatus, Io } from '../output/io.ts';
import { writeNote } from '../output/messages.ts';
import { type CommandScope, programName, scopeFlags } from '../output/wording.ts';
import { defineCommand } from '../program/command.ts';
import { FILE_BATCH_OPTION, type SourceOptions, sourceOf, sourceOptions } from '../program/options.ts';
import { checkLarge } from '../session/add-large.ts';
import { printAnswer } from '../session/ask.ts';
import { expectWorkers, withCluster } from '../session/cluster.ts';
import { type Session, withOwnStore, withSession } from '../session/session.ts';
import {
  checkFileSettings,
  checkStart,
  type StartOptions,
  startBatch,
  startOptions,
} from '../session/start-batch.ts';

interface RunOptions extends StartOptions, SourceOptions {
  readonly batch?: string;
  /** The Redis server of a cluster. */
  readonly on?: string;
  /** The batch to continue. */
  readonly takeover?: string;
}

const MAX_NAMED = 5;
/** Longer than the lease of a process that died. */
const LEASE_WAIT_MS = 10_000;
const LEASE_POLL_MS = 200;

export const runBatchCommand = defineCommand<RunOptions>({
  examples: [
    'volley run audit.json',
    `volley run --each 'src/**/*.ts' --function code_analyzer_tool --params '{"action":"analyze","file_path":"{}"}'`,
    `volley run --each 'src/**/*.ts' --ask 'Review {} for race conditions' --agent codex --schema review.json --budget 5`,
    'volley run audit.json --dry-run',
    'generate-tasks | volley run - --batch audit --max-concurrent 5',
  ],
  declare: (program) =>
    startOptions(
      sourceOptions(program)
        .option(...FILE_BATCH_OPTION)
        .option('--on <url>', 'run on the workers of the cluster at this Redis URL')
        .option(
          '--takeover <batch>',
          'continue a batch whose process has died, with the options of its start',
        ),
    ),
  run: async ([file], options, io) => {
    if (options.takeover !== undefined) return takeOver(file, options.takeover, options, io);
    const found = await collectTasks({ ...sourceOf(options), file }, io);
    if (found instanceof LargeTaskFile) return runLarge(found, options, io);
    const batch = options.batch ?? found.batch;
    const settings = fromFile(found.settings, options);
    const start = { ...settings, ...options };
    // Checked before anything is added.
    checkFileSettings(file ?? '', options.batch === undefined ? batch : undefined, settings);
    checkStart(batch, start, io);
    const open = options.dryRun ? withSession : withOwnStore;
    return open(options, io, async (session) => {
      await expectWorkers(session, options.on);
      const tasks = await newTasks(session.store, batch, found.tasks);
      if (tasks.length < found.tasks.length)
        await noteChanged(session, { batch, config: options.config }, found.tasks, io);
      if (options.dryRun) {
        const { dryRun } = await import('../session/dry-run.ts');
        return locateErrors(found, tasks, () => dryRun(session, batch, tasks, start, io));
      }
      const refused =
        found.tasks.length > tasks.length && tasks.length === 0
          ? undefined
          : await add(session, { batch, tasks, found }, options, io);
      return (
        refused ?? withCluster(session, options.on, io, (joined) => startBatch(joined, batch, start, io))
      );
    });
  },
});

/** Continues a batch, when the lease of the process that ran it has ended. */
async function takeOver(
  file: string | undefined,
  batch: string,
  options: RunOptions,
  io: Io,
): Promise<ExitStatus> {
  if (file !== undefined || options.batch !== undefined)
    throw new VolleyError(
      'INVALID_REQUEST',
      'Name the batch once: volley run --takeover BATCH takes no file and no --batch.',
    );
  return withSession(options, io, async (session) => {
    await findBatch(session, batch);
    const until = performance.now() + LEASE_WAIT_MS;
    // If it is still there then, the answer says who runs it.
    while ((await session.store.batch(batch))?.holder !== undefined && performance.now() < until)
      await sleep(LEASE_POLL_MS);
    return withCluster(session, options.on, io, (joined) => {
      const { executor } = joined;
      const handle = (request: { readonly action?: unknown }) =>
        request.action === 'start' ? executor.takeOver(batch, true) : executor.handle(request);
      return startBatch({ ...joined, handle }, batch, options, io);
    });
  });
}

/** Runs a file whose tasks are too many to be in memory at once. */
async function runLarge(file: LargeTaskFile, options: RunOptions, io: Io): Promise<ExitStatus> {
  await file.readSettings();
  const { batch: own = batchOfFile(file.name), ...rest } = file.settings;
  const batch = options.batch ?? String(own);
  const settings = fromFile(rest, options);
  const start = { ...settings, ...options };
  checkFileSettings(file.name, options.batch === undefined ? batch : undefined, settings);
  checkStart(batch, start, io);
  const open = options.dryRun ? withSession : withOwnStore;
  return open(options, io, async (session) => {
    await expectWorkers(session, options.on);
    const scope = { batch, config: options.config };
    let hasNote = false;
    const checked = await checkLarge(session, batch, file, async (tasks) => {
      if (!hasNote) hasNote = await noteChanged(session, scope, tasks, io);
    });
    if (options.dryRun)
      return (await import('../session/dry-run.ts')).dryRunLarge(batch, checked, options, io);
    for await (const found of checked.lists()) {
      const refused = await add(session, { batch, tasks: found.tasks, found }, options, io);
      if (refused !== undefined) return refused;
    }
    return withCluster(session, options.on, io, (joined) => startBatch(joined, batch, start, io));
  });
}

/** The batch keeps its tasks, which may have run. Notes those that the file has changed, and returns whether there are any. */
async function noteChanged(
  { store }: Session,
  scope: CommandScope & { readonly batch: string },
  tasks: readonly PlainObject[],
  io: Io,
): Promise<boolean> {
  const changed = await changedIds(store, scope.batch, tasks);
  if (changed.length === 0) return false;
  const ids = listText(changed.slice(0, MAX_NAMED).map(printableLine), changed.length);
  writeNote(
    `These tasks were already added with a different function or params, which the batch keeps: ${ids}. To use the ones in the file, run ${programName(io)} clear${scopeFlags(scope)} first, or choose another --batch.`,
    io,
  );
  return true;
}

/** Returns an exit status if the tasks were refused. */
async function add(
  session: Session,
  {
    batch,
    tasks,
    found,
  }: { batch: string; tasks: readonly PlainObject[]; found: Pick<RunTasks, 'tasks' | 'file'> },
  options: RunOptions,
  io: Io,
): Promise<ExitStatus | undefined> {
  // Files are read strictly; only requests of agents are interpreted.
  await locateErrors(found, tasks, async () =>
    checkInput(addBatchAction.schema, 'add_batch', { batch, tasks }),
  );
  const answer = await session.handle({ action: 'add_batch', batch, tasks });
  if (answer.ok) return undefined;
  // The same command in another process may have added some of them meanwhile.
  const left = answer.error?.code === 'DUPLICATE_ID' ? await newTasks(session.store, batch, tasks) : tasks;
  if (left.length === tasks.length)
    return printAnswer(await locateInAnswer(answer, tasks, found), options, io);
  return left.length === 0 ? undefined : add(session, { batch, tasks: left, found }, options, io);
}

/** The settings of the file that the command line does not override. */
function fromFile({ max_concurrent, timeout, fail_fast }: PlainObject, options: StartOptions): StartOptions {
  const settings = { maxConcurrent: max_concurrent, timeout, failFast: fail_fast };
  const isAsked = ([name, value]: [string, unknown]) => value !== undefined && !Object.hasOwn(options, name);
  return Object.fromEntries(Object.entries(settings).filter(isAsked)) as StartOptions;
}
