import { VolleyError } from '../../core/errors.ts';
import { countText } from '../../core/words.ts';
import { type FeatureProblem, featureProblemText, onlyErrors } from '../files/feature.ts';
import { parseFeature, TASK_FILE } from '../files/parse-feature.ts';
import { isoTime } from '../files/readiness.ts';
import { normalizeSeq, subtaskFile } from '../files/subtask-reference.ts';
import { validateFeature } from './validate.ts';

/** The fields that a description gives for a new feature. */
export interface FeatureDraft {
  /** The folder's name; derived from the title if missing. */
  readonly feature?: string | undefined;
  readonly task: Readonly<Record<string, unknown>>;
  readonly subtasks: readonly Readonly<Record<string, unknown>>[];
  /** What looks like a mistake in the description. */
  readonly warnings?: readonly FeatureProblem[];
}

const MAX_SUBTASKS = 1000;
const NAME = /^[\p{L}\p{N}][\p{L}\p{N}\p{M}._-]{0,63}$/u;

/** Renders the files of a feature and validates them. Throws on errors, returns warnings. */
export function renderDraft(
  draft: FeatureDraft,
  now: number,
): { name: string; texts: Map<string, string>; warnings: readonly FeatureProblem[] } {
  const title = draft.task['name'];
  const name = draft.feature ?? slugOf(typeof title === 'string' ? title : '');
  if (!NAME.test(name) || name === 'completed') {
    const rule = 'up to 64 letters, digits, ".", "_" and "-", and not "completed"';
    throw invalidDraft(`${JSON.stringify(name)} is not a valid feature name. Use ${rule}.`);
  }
  if (draft.subtasks.length > MAX_SUBTASKS) {
    const count = countText(draft.subtasks.length, 'subtask');
    throw invalidDraft(`${count} are too many; the maximum is ${MAX_SUBTASKS}.`);
  }
  const texts = new Map<string, string>();
  for (const [place, subtask] of draft.subtasks.entries()) {
    const seq = normalizeSeq(String(subtask['seq'] ?? place + 1));
    const file = subtaskFile(seq);
    if (texts.has(file)) throw invalidDraft(`Two subtasks have the number ${seq}. Renumber one of them.`);
    texts.set(file, textOf(subtaskFields(name, seq, subtask)));
  }
  texts.set(TASK_FILE, textOf(taskFields(name, draft, now)));
  const problems = validateFeature(parseFeature(name, texts));
  // Overlapping subtasks can still run one after another.
  const errors = onlyErrors(problems).filter(({ code }) => code !== 'overlap');
  if (errors.length > 0) throw invalidDraft(errors.map(featureProblemText).join('\n'), errors);
  return { name, texts, warnings: [...(draft.warnings ?? []), ...problems] };
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

/** Letters of any script are kept; Latin ones lose their accents. */
function slugOf(title: string): string {
  const slug = title
    .normalize('NFKD')
    .replace(/([a-z])\p{M}+/giu, '$1')
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}]+/gu, '-')
    .replace(/^[-\p{M}]+|-$/gu, '');
  return [...slug].slice(0, 64).join('').replace(/-$/, '');
}

export function invalidDraft(message: string, problems: readonly FeatureProblem[] = []): VolleyError {
  return new VolleyError('INVALID_FEATURE', `${message}\nNothing was written.`, { problems });
}
