import { printableLine } from '../../core/printable-text.ts';
import { listText } from '../../core/words.ts';
import { printAnswer } from '../ask.ts';
import { defineCommand } from '../command.ts';
import { dryRun } from '../dry-run.ts';
import { orPlaced, placedAnswer } from '../input/placed-answer.ts';
import type { PlainObject } from '../input/task-file.ts';
import type { ExitStatus, Io } from '../io.ts';
import { sourceOptions } from '../options.ts';
import { createColours, wantsColours } from '../output/colours.ts';
import { type CommandPlace, ownName, placeOptions } from '../output/own-name.ts';
import { changedIds, collectTasks, newTasks, type RunTasks } from '../run-tasks.ts';
import { type Session, withOwnStore, withSession } from '../session.ts';
import { checkSettings, checkStart, type StartOptions, startBatch } from '../start-batch.ts';
import { startOptions } from '../start-options.ts';

interface RunOptions extends StartOptions {
  readonly batch?: string;
  readonly each?: readonly string[];
  readonly function?: string;
  readonly params?: string;
}

const MAX_NAMED = 5;

export const runCommand = defineCommand<RunOptions>({
  examples: [
    'volley run audit.json',
    `volley run --each 'src/**/*.ts' --function code_analyzer_tool --params '{"action":"analyze","file_path":"{}"}'`,
    'volley run audit.json --dry-run',
    'generate-tasks | volley run - --batch audit --max-concurrent 5',
  ],
  declare: (program) =>
    startOptions(
      sourceOptions(program).option('--batch <name>', 'the batch (default: the name of the file)'),
    ),
  run: async ([file], options, io) => {
    const { each, function: tool, params } = options;
    const found = await collectTasks({ file, each, function: tool, params }, io);
    const batch = options.batch ?? found.batch;
    const settings = fromFile(found.settings, options);
    const start = { ...settings, ...options };
    // Before anything is added: what cannot be run as asked leaves no tasks behind.
    checkSettings(file ?? '', options.batch === undefined ? batch : undefined, settings);
    checkStart(batch, start, io);
    const open = options.dryRun ? withSession : withOwnStore;
    return open(options, io, async (session) => {
      const tasks = await newTasks(session.store, batch, found.tasks);
      if (tasks.length < found.tasks.length)
        await tellChanged(session, { batch, config: options.config }, found.tasks, io);
      if (options.dryRun) return orPlaced(found, tasks, () => dryRun(session, batch, tasks, start, io));
      const refused =
        found.tasks.length > tasks.length && tasks.length === 0
          ? undefined
          : await add(session, { batch, tasks, found }, options, io);
      return refused ?? startBatch(session, batch, start, io);
    });
  },
});

/** What the batch has stays as it is, since it may have run; whoever has changed the file must hear that. */
async function tellChanged(
  { store }: Session,
  place: CommandPlace & { readonly batch: string },
  tasks: readonly PlainObject[],
  { stderr, env }: Io,
): Promise<void> {
  const changed = await changedIds(store, place.batch, tasks);
  if (changed.length === 0) return;
  const { yellow } = createColours(wantsColours(stderr, env));
  const ids = listText(changed.slice(0, MAX_NAMED).map(printableLine), changed.length);
  stderr.writeStyled(
    `${yellow('note')} The batch has other functions or params under the same ids, and keeps them: ${ids}. To use those of the file, ${ownName({ env })} clear${placeOptions(place)} first, or give it another --batch.\n`,
  );
}

/** Gives an exit status if that was refused. */
async function add(
  session: Session,
  { batch, tasks, found }: { batch: string; tasks: readonly PlainObject[]; found: RunTasks },
  options: RunOptions,
  io: Io,
): Promise<ExitStatus | undefined> {
  const answer = await session.handle({ action: 'add_batch', batch, tasks });
  if (answer.ok) return undefined;
  // The same command in another process may have been quicker: what it has added is there now.
  const left = answer.error?.code === 'DUPLICATE_ID' ? await newTasks(session.store, batch, tasks) : tasks;
  if (left.length === tasks.length) return printAnswer(await placedAnswer(answer, tasks, found), options, io);
  return left.length === 0 ? undefined : add(session, { batch, tasks: left, found }, options, io);
}

/** What the file says of the run; the command line goes before it. */
function fromFile({ max_concurrent, timeout, fail_fast }: PlainObject, options: StartOptions): StartOptions {
  const settings = { maxConcurrent: max_concurrent, timeout, failFast: fail_fast };
  const isAsked = ([name, value]: [string, unknown]) => value !== undefined && !Object.hasOwn(options, name);
  return Object.fromEntries(Object.entries(settings).filter(isAsked)) as StartOptions;
}
