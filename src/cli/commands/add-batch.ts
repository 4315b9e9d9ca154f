import { addBatchAction } from '../../batch/actions/add-batch.ts';
import type { BatchAnswer } from '../../batch/answer.ts';
import { checkInput } from '../../batch/input/check.ts';
import { listText } from '../../core/words.ts';
import type { Store } from '../../store/store.ts';
import { withIds } from '../input/collect-tasks.ts';
import { locateErrors, locateInAnswer } from '../input/problem-places.ts';
import { type PlainObject, readTaskFile } from '../input/task-file.ts';
import { createColors, wantsColors } from '../output/colors.ts';
import { EXIT } from '../output/io.ts';
import { programName } from '../output/wording.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';
import { fieldOptions } from '../session/action-command.ts';
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
    const read = await readTaskFile(file!, io.stdin, io.cwd);
    const { batch: own, ...ofRun } = read.settings;
    const status = await withOwnStore(options, io, async (session) => {
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
