import { VolleyError } from '../../core/errors.ts';
import { shellQuote } from '../../core/shell-quote.ts';
import { listText } from '../../core/words.ts';
import { type Check, type Feature, type FileReference, type Subtask, titleOf } from '../files/feature.ts';

/** The placeholders of a template, in double braces. An empty value also removes its heading. */
export const PLACEHOLDERS = [
  'feature',
  'feature_title',
  'objective',
  'seq',
  'title',
  'description',
  'criteria',
  'deliverables',
  'verification',
  'context',
  'references',
  'session',
  'others',
  'earlier',
  'conflict',
  'rules',
  'complete',
] as const;
type Placeholder = (typeof PLACEHOLDERS)[number];

const DEFAULT_TEMPLATE = `You are working on one subtask of a larger feature, {{feature_title}}. Do this subtask only.

# Subtask {{seq}}: {{title}}

{{description}}

{{objective}}

{{earlier}}

{{conflict}}

{{criteria}}

{{deliverables}}

{{verification}}

{{session}}

{{context}}

{{references}}

{{others}}

{{rules}}

When everything is done, report it with this command. Replace SUMMARY with one sentence about what you did:

    {{complete}}

The command checks the work first and prints what is missing. Then finish with a short summary.
`;

interface PromptOptions {
  /** A file with context for the session. */
  readonly session?: string | undefined;
  /** Other subtasks that run at the same time. */
  readonly batchMates: readonly Subtask[];
  /** Replaces the default template. */
  readonly template?: string | undefined;
  /** What was missing after the previous attempt. */
  readonly earlier?: readonly string[] | undefined;
  /** How its work conflicts with the project. */
  readonly conflict?: readonly string[] | undefined;
}

const RULES = [
  'Work in the current folder. Change nothing outside it.',
  'Write the deliverables. Change other files only if the subtask requires it.',
  'Nobody can answer questions. Decide yourself, and mention your decisions in the summary.',
  'Do not commit, stash, switch branches or start other agents.',
  'Do not edit the files in `.tmp/tasks`. The command below does that.',
  'Only actual results count: the deliverables and checks are verified afterwards, whatever you report.',
];

/** The prompt for an agent. */
export function buildPrompt(subtask: Subtask, feature: Feature, options: PromptOptions): string {
  const values = valuesOf(subtask, feature, options);
  // In one pass, so that braces inside a value are never taken for a placeholder.
  const text = (options.template ?? DEFAULT_TEMPLATE).replace(/\{\{\s*(\w+)\s*\}\}/g, (_, name: string) => {
    if (Object.hasOwn(values, name)) return values[name as Placeholder];
    throw new VolleyError(
      'INVALID_VALUE',
      `The prompt template has an unknown placeholder {{${name}}}. Use ${listText(PLACEHOLDERS.map((known) => `{{${known}}}`))}.`,
    );
  });
  return `${text.replace(/\n{3,}/g, '\n\n').trim()}\n`;
}

function valuesOf(
  subtask: Subtask,
  feature: Feature,
  { session, batchMates, earlier = [], conflict = [] }: PromptOptions,
): Record<Placeholder, string> {
  const { task } = feature;
  return {
    feature: feature.name,
    feature_title: titleOf(feature),
    objective: section('Objective of the feature', task?.objective ?? ''),
    seq: subtask.seq,
    title: subtask.title,
    description: subtask.description ?? '',
    criteria: section('Acceptance criteria', list(subtask.acceptanceCriteria)),
    deliverables: section('Deliverables', list(subtask.deliverables.map(quoted))),
    verification: section('Checks', list(subtask.verification.map(checkText))),
    context: section(
      'Read first and follow',
      list([...(task?.contextFiles ?? []), ...subtask.contextFiles].map(fileText)),
    ),
    references: section(
      'For reference',
      list([...(task?.referenceFiles ?? []), ...subtask.referenceFiles].map(fileText)),
    ),
    session:
      session === undefined ? '' : `Read ${quoted(session)} first. It has the context of this session.`,
    others: section(
      'Other agents work on these at the same time. Leave their files alone',
      list(batchMates.map(mateText)),
    ),
    earlier: section('The previous attempt failed. Look at what it left behind', list(earlier)),
    conflict: section('Resolve a conflict', list(conflict)),
    rules: section('Rules', list(RULES)),
    complete: `volley tasks complete ${shellQuote(feature.name)} ${subtask.seq} "SUMMARY"`,
  };
}

function section(heading: string, body: string): string {
  return body === '' ? '' : `${heading}:\n\n${body}`;
}

function list(items: readonly string[]): string {
  return [...new Set(items)].map((item) => `- ${item.trim().replace(/\n/g, '\n  ')}`).join('\n');
}

function quoted(text: string): string {
  return `\`${text}\``;
}

function fileText({ path, lines, reason }: FileReference): string {
  const where = lines === undefined ? quoted(path) : `${quoted(path)}, lines ${lines}`;
  return reason === undefined ? where : `${where}: ${reason}`;
}

function mateText({ seq, title, deliverables }: Subtask): string {
  const files = deliverables.length === 0 ? '' : ` (${listText(deliverables.map(quoted))})`;
  return `${seq} ${title}${files}`;
}

function checkText(check: Check): string {
  switch (check.type) {
    case 'command': {
      const prints = check.expectText === undefined ? '' : ` and prints ${JSON.stringify(check.expectText)}`;
      return `${quoted(check.command)} exits with status ${check.expectExit}${prints}`;
    }
    case 'file_exists':
      return `${quoted(check.path)} exists`;
    case 'file_contains':
      return `${quoted(check.path)} contains ${JSON.stringify(check.text)}`;
  }
}
