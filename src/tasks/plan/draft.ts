import { VolleyError } from '../../core/errors.ts';
import { countText } from '../../core/words.ts';
import { type FeatureProblem, featureProblemText, onlyErrors } from '../files/feature.ts';
import { parseFeature, TASK_FILE } from '../files/parse-feature.ts';
import { isoTime } from '../files/readiness.ts';
import { normalizeSeq, subtaskFile } from '../files/subtask-reference.ts';
import { validateFeature } from './validate.ts';

/** A feature that is to be made: the fields of its files, as far as somebody said something. */
export interface FeatureDraft {
  /** The folder; made of the name if it is missing. */
  readonly feature?: string | undefined;
  readonly task: Readonly<Record<string, unknown>>;
  readonly subtasks: readonly Readonly<Record<string, unknown>>[];
}

const MAX_SUBTASKS = 1000;
const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/i;

/** The texts of a feature's files, and what is odd about them without being wrong. Wrong ones throw. */
export function renderDraft(
  draft: FeatureDraft,
  now: number,
): { name: string; texts: Map<string, string>; warnings: readonly FeatureProblem[] } {
  const title = draft.task['name'];
  const name = draft.feature ?? slugOf(typeof title === 'string' ? title : '');
  if (!NAME.test(name) || name === 'completed') {
    const rule = 'letters, digits, ".", "_" and "-", 64 at most, and not "completed"';
    throw invalidDraft(`${JSON.stringify(name)} cannot be the name of a feature: use ${rule}.`);
  }
  if (draft.subtasks.length > MAX_SUBTASKS) {
    throw invalidDraft(
      `${countText(draft.subtasks.length, 'subtask')} are too many: ${MAX_SUBTASKS} at most.`,
    );
  }
  const texts = new Map<string, string>();
  for (const [place, subtask] of draft.subtasks.entries()) {
    const seq = normalizeSeq(String(subtask['seq'] ?? place + 1));
    const file = subtaskFile(seq);
    if (texts.has(file)) throw invalidDraft(`Two subtasks have the number ${seq}: give one of them another.`);
    texts.set(file, textOf(subtaskFields(name, seq, subtask)));
  }
  texts.set(TASK_FILE, textOf(taskFields(name, draft, now)));
  const problems = validateFeature(parseFeature(name, texts));
  // Common deliverables are a matter of how it is run.
  const [wrong, odd] = [onlyErrors(problems).filter(({ code }) => code !== 'overlap'), problems];
  if (wrong.length > 0) throw invalidDraft(wrong.map(featureProblemText).join('\n'), wrong);
  return { name, texts, warnings: odd };
}

function taskFields(name: string, { task, subtasks }: FeatureDraft, now: number): Record<string, unknown> {
  const done = subtasks.filter(({ status }) => status === 'completed').length;
  return {
    id: name,
    name,
    status: 'active',
    objective: '',
    context_files: [],
    reference_files: [],
    exit_criteria: [],
    subtask_count: subtasks.length,
    completed_count: done,
    created_at: isoTime(now),
    completed_at: null,
    ...task,
  };
}

function subtaskFields(name: string, seq: string, { seq: _, ...subtask }: Readonly<Record<string, unknown>>) {
  return {
    id: `${name}-${seq}`,
    seq,
    title: `Subtask ${seq}`,
    status: 'pending',
    depends_on: [],
    parallel: true,
    context_files: [],
    reference_files: [],
    suggested_agent: null,
    acceptance_criteria: [],
    deliverables: [],
    ...subtask,
    agent_id: null,
    started_at: null,
    completed_at: null,
    completion_summary: null,
  };
}

function textOf(fields: Record<string, unknown>): string {
  return `${JSON.stringify(fields, null, 2)}\n`;
}

function slugOf(title: string): string {
  return title
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 64);
}

export function invalidDraft(message: string, problems: readonly FeatureProblem[] = []): VolleyError {
  return new VolleyError('INVALID_FEATURE', `${message}\nNothing was written.`, { problems });
}
