import { addBatchAction } from '../../batch/actions/add-batch.ts';
import type { BatchAnswer } from '../../batch/answer.ts';
import { checkInput } from '../../batch/input/check.ts';
import { countText, listText } from '../../core/words.ts';
import type { Store } from '../../store/store.ts';
import { readTasks, withIds } from '../input/collect-tasks.ts';
import { LargeTaskFile } from '../input/large-file.ts';
import { locateErrors, locateInAnswer } from '../input/problem-places.ts';
import type { PlainObject } from '../input/task-file.ts';
import { createColors, wantsColors } from '../output/colors.ts';
import { EXIT } from '../output/io.ts';
import { programName } from '../output/wording.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';
import { fieldOptions } from '../session/action-command.ts';
import { checkLarge } from '../session/add-large.ts';
import { printAnswer } from '../session/ask.ts';
import { type Session, withOwnStore } from '../session/session.ts';

const MAX_TRIES = 20;

interface AddBatchOptions extends CommonOptions {
  readonly batch?: string;
}

export const addBatchCommand = defineCommand<AddBatchOptions>({
  examples: addBatchAction.cli.examples,
  declare: (program) =>
    fieldOptions(
      program.argument('<file>', 'JSON, JSON Lines, YAML or TOML; - for standard input'),
      addBatchAction,
    ),
  run: async ([file], { batch, ...options }, io) => {
    const read = await readTasks(file!, io.stdin, io.cwd);
    if (read instanceof LargeTaskFile) await read.readSettings();
    const { batch: own, ...ofRun } = read.settings;
    const status = await withOwnStore(options, io, async (session) => {
      if (read instanceof LargeTaskFile) {
        const name = checkInput(addBatchAction.schema.shape.batch, 'add_batch', batch ?? own ?? 'default');
        return printAnswer(await addLarge(session, name, read), options, io);
      }
      const located = { tasks: read.tasks, file: read };
      const { answer, tasks } = await locateErrors(located, read.tasks, () =>
        add(session, batch ?? own ?? 'default', read.tasks),
      );
      return printAnswer(await locateInAnswer(answer, tasks, { tasks, file: read }), options, io);
    });
    const unused = Object.keys(ofRun);
    if (status === EXIT.ok && unused.length > 0) {
      const { yellow } = createColors(wantsColors(io.stderr, io.env));
      io.stderr.writeStyled(
        `${yellow('note')} What the file says of a run is for ${programName(io)} run; tell ${programName(io)} start: ${listText(unused)}.\n`,
      );
    }
    return status;
  },
});

/** Checks all tasks of a large file, then adds them in parts. */
async function addLarge(session: Session, batch: string, file: LargeTaskFile): Promise<BatchAnswer> {
  const { lists } = await checkLarge(session, batch, file, { areSkipped: false });
  let added = 0;
  let answer: BatchAnswer | undefined;
  for await (const { tasks } of lists()) {
    answer = await session.handle({ action: 'add_batch', tasks, batch });
    if (!answer.ok) {
      const note = added === 0 ? '' : ` ${countText(added, 'task')} before it were added.`;
      return { ...answer, text: `${answer.text}${note}` };
    }
    added += tasks.length;
  }
  const { counts, state } = answer!.data;
  const text = `Added ${countText(added, 'task')} to the batch "${batch}".`;
  return { ok: true, action: 'add_batch', text, data: { batch, added, counts, state } };
}

/** Adds tasks once more that are there already; another process may do the same at this moment. */
async function add(
  { handle, store }: Session,
  batch: unknown,
  given: readonly PlainObject[],
): Promise<{ answer: BatchAnswer; tasks: readonly PlainObject[] }> {
  for (let tries = 1; ; tries++) {
    const tasks = await withFreeIds(store, batch, given);
    // Files are read strictly; only requests of agents are interpreted.
    checkInput(addBatchAction.schema, 'add_batch', { batch, tasks });
    const answer = await handle({ action: 'add_batch', tasks, batch });
    const { code, id } = answer.data;
    const isChosen = code === 'DUPLICATE_ID' && !given.some((task) => task['id'] === id);
    if (!isChosen || tries === MAX_TRIES) return { answer, tasks };
  }
}

/** Gives tasks without an id one that the batch does not have. */
async function withFreeIds(
  store: Pick<Store, 'tasksById'>,
  batch: unknown,
  given: readonly PlainObject[],
): Promise<PlainObject[]> {
  const taken = new Set<string>();
  const withoutId = given.flatMap((task, index) => (task['id'] === undefined ? [index] : []));
  for (;;) {
    const tasks = withIds(given, (id) => taken.has(id));
    if (typeof batch !== 'string') return tasks;
    const chosen = withoutId.map((index) => tasks[index]!['id'] as string);
    const found = await store.tasksById(batch, chosen);
    if (found.size === 0) return tasks;
    for (const id of found.keys()) taken.add(id);
  }
}
