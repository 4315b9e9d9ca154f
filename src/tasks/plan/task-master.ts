import { nearest } from '../../core/nearest.ts';
import { listText } from '../../core/words.ts';
import { compareSeqs, normalizeSeq } from '../files/subtask-reference.ts';
import { type FeatureDraft, invalidDraft } from './draft.ts';

/** A task or subtask in a claude-task-master file. */
interface MasterTask {
  readonly id?: unknown;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly details?: unknown;
  readonly testStrategy?: unknown;
  readonly priority?: unknown;
  readonly status?: unknown;
  readonly dependencies?: unknown;
  readonly subtasks?: unknown;
}

/** A task without subtasks, or a subtask. Each becomes a subtask here. `key` is `3` or `3.1`. */
interface Leaf {
  readonly key: string;
  readonly parent: MasterTask | undefined;
  readonly task: MasterTask;
}

/** Everything else, including `in-progress`, becomes pending: nobody works on it here yet. */
const STATUSES: Readonly<Record<string, string>> = {
  done: 'completed',
  deferred: 'blocked',
  blocked: 'blocked',
};
const DEFAULT_TAG = 'master';

/**
 * Parses the tasks.json of claude-task-master. A task with subtasks is replaced by them: each inherits the task's
 * dependencies, and tasks that depend on it depend on all of them. Cancelled tasks are left out.
 */
export function parseTaskMaster(file: string, text: string, tag: string | undefined): FeatureDraft {
  const { name, tasks } = chosenList(file, text, tag);
  const leaves = leavesOf(tasks);
  const seqs = new Map(leaves.map(({ key }, place) => [key, normalizeSeq(place + 1)]));
  return {
    feature: undefined,
    task: { name },
    subtasks: leaves.map((leaf) => subtaskOf(leaf, seqs)),
  };
}

/** Old files have one list; newer ones have one for each tag. */
function chosenList(
  file: string,
  text: string,
  tag: string | undefined,
): { name: string; tasks: MasterTask[] } {
  const data = parsed(file, text);
  if (Array.isArray(data['tasks']) && tag === undefined)
    return { name: 'tasks', tasks: records(data['tasks']) };
  const tags = Object.entries(data).filter(([, value]) =>
    Array.isArray((value as { tasks?: unknown } | null)?.tasks),
  );
  const names = tags.map(([name]) => name);
  const [only, ...others] = names;
  const wanted = tag ?? (others.length === 0 ? only : DEFAULT_TAG);
  const found = tags.find(([name]) => name === wanted);
  if (found === undefined) {
    if (names.length === 0)
      throw invalidDraft(`${file}: no "tasks" list. Is it a tasks.json of claude-task-master?`);
    const close = nearest(wanted!, names);
    const hint =
      close === undefined
        ? `Choose one of ${listText(names)} with --tag.`
        : `Did you mean ${JSON.stringify(close)}?`;
    throw invalidDraft(`${file}: no tag ${JSON.stringify(wanted)}. ${hint}`);
  }
  return { name: found[0], tasks: records((found[1] as { tasks: unknown[] }).tasks) };
}

function parsed(file: string, text: string): Record<string, unknown> {
  try {
    const data: unknown = JSON.parse(text);
    if (typeof data === 'object' && data !== null) return data as Record<string, unknown>;
  } catch (error) {
    throw invalidDraft(`${file}: invalid JSON (${(error as Error).message}).`);
  }
  throw invalidDraft(`${file}: not a JSON object.`);
}

function leavesOf(tasks: readonly MasterTask[]): Leaf[] {
  return tasks.flatMap((task): Leaf[] => {
    const key = String(task.id);
    const children = records(task.subtasks).filter(isWanted);
    if (!isWanted(task)) return [];
    if (children.length === 0) return [{ key, parent: undefined, task }];
    return children.map((child) => ({ key: childKey(key, child.id), parent: task, task: child }));
  });
}

function isWanted({ status }: MasterTask): boolean {
  return status !== 'cancelled';
}

/** Some files include the parent's id. */
function childKey(parent: string, id: unknown): string {
  return String(id).includes('.') ? String(id) : `${parent}.${id}`;
}

function subtaskOf({ key, parent, task }: Leaf, seqs: ReadonlyMap<string, string>): Record<string, unknown> {
  const own = list(task.dependencies).flatMap((one) => {
    // Within a task, a bare number refers to a sibling if there is one.
    const sibling = parent === undefined ? undefined : seqs.get(childKey(String(parent.id), one));
    return sibling === undefined ? seqsOf(one, seqs) : [sibling];
  });
  const inherited = list(parent?.dependencies).flatMap((one) => seqsOf(one, seqs));
  const itself = seqs.get(key);
  const titles = [parent?.title, task.title].filter((title) => typeof title === 'string');
  const { priority = parent?.priority, status } = task;
  return {
    title: titles.join(': ') || `Task ${key}`,
    ...descriptionOf(task, parent),
    status: STATUSES[String(parent?.status === 'done' ? 'done' : status)] ?? 'pending',
    depends_on: [...new Set([...inherited, ...own])].filter((seq) => seq !== itself).sort(compareSeqs),
    acceptance_criteria: [task.testStrategy].filter(isText),
    ...(typeof priority === 'string' && { priority }),
    imported_from: { tool: 'claude-task-master', id: key, status: status ?? null },
  };
}

/** A subtask also gets the texts of its task, which is not a subtask itself. */
function descriptionOf(task: MasterTask, parent: MasterTask | undefined): { description?: string } {
  const texts = [task.description, task.details].filter(isText);
  const whole = [parent?.description, parent?.details].filter(isText);
  const test = [parent?.testStrategy].filter(isText).map((text) => `Test of the whole task: ${text}`);
  if (whole.length + test.length > 0)
    texts.push(`This is a part of the task "${parent?.title ?? parent?.id}":`, ...whole, ...test);
  return texts.length === 0 ? {} : { description: texts.join('\n\n') };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** The subtasks that a reference became: one, all subtasks of a task, or none if it was left out. */
function seqsOf(reference: unknown, seqs: ReadonlyMap<string, string>): string[] {
  const key = String(reference);
  const found = seqs.get(key);
  if (found !== undefined) return [found];
  return [...seqs].filter(([other]) => other.startsWith(`${key}.`)).map(([, seq]) => seq);
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function records(value: unknown): MasterTask[] {
  return list(value).filter((one): one is MasterTask => typeof one === 'object' && one !== null);
}
