import { VolleyError } from '../../core/errors.ts';
import { shellQuote } from '../../core/shell-quote.ts';
import { listText } from '../../core/words.ts';
import { type Check, type Feature, type FileReference, type Subtask, titleOf } from '../files/feature.ts';

/** What a template may hold, each between double braces. What has nothing to say becomes nothing, its heading included. */
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
  'rules',
  'complete',
] as const;
export type Placeholder = (typeof PLACEHOLDERS)[number];

export const DEFAULT_TEMPLATE = `You work on one part of a larger piece of work, {{feature_title}}, and on this part only.

# Subtask {{seq}}: {{title}}

{{description}}

{{objective}}

{{earlier}}

{{criteria}}

{{deliverables}}

{{verification}}

{{session}}

{{context}}

{{references}}

{{others}}

{{rules}}

When all of it is done, say so with this command, with a sentence on what you did in place of SUMMARY:

    {{complete}}

It checks the work first and tells what is missing. Then end with a short summary.
`;

export interface PromptOptions {
  /** The file with the context of the session. */
  readonly session?: string | undefined;
  /** The other subtasks that run at the same time. */
  readonly batchMates: readonly Subtask[];
  /** Text with placeholders in double braces, in place of the one that Volley has. */
  readonly template?: string | undefined;
  /** What was missing after the attempt before this one. */
  readonly earlier?: readonly string[] | undefined;
}

const RULES = [
  'Work in the current folder. Change nothing outside it.',
  'Write the deliverables; change other files only where the subtask cannot be done without.',
  'Nobody can answer questions: decide, and say in the summary what you decided.',
  'Do not commit, stash, switch branches or start other agents.',
  'Do not edit the files in `.tmp/tasks`: the command below does.',
  'Only what is there counts: the deliverables and the checks are looked at afterwards, whatever you report.',
];

/** What an agent is told to do. */
export function buildPrompt(subtask: Subtask, feature: Feature, options: PromptOptions): string {
  const values = valuesOf(subtask, feature, options);
  // In one go, so that what a value holds is never taken for a placeholder.
  const text = (options.template ?? DEFAULT_TEMPLATE).replace(/\{\{\s*(\w+)\s*\}\}/g, (_, name: string) => {
    if (Object.hasOwn(values, name)) return values[name as Placeholder];
    throw new VolleyError(
      'INVALID_VALUE',
      `The template of the prompt has {{${name}}}, which means nothing. It can use ${listText(PLACEHOLDERS.map((known) => `{{${known}}}`))}.`,
    );
  });
  return `${text.replace(/\n{3,}/g, '\n\n').trim()}\n`;
}

function valuesOf(
  subtask: Subtask,
  feature: Feature,
  { session, batchMates, earlier = [] }: PromptOptions,
): Record<Placeholder, string> {
  const { task } = feature;
  return {
    feature: feature.name,
    feature_title: titleOf(feature),
    objective: section('What the whole is for', task?.objective ?? ''),
    seq: subtask.seq,
    title: subtask.title,
    description: subtask.description ?? '',
    criteria: section('It must hold that', list(subtask.acceptanceCriteria)),
    deliverables: section('Deliverables', list(subtask.deliverables.map(quoted))),
    verification: section('It is checked by', list(subtask.verification.map(checkText))),
    context: section(
      'Read first, and keep to it',
      list([...(task?.contextFiles ?? []), ...subtask.contextFiles].map(fileText)),
    ),
    references: section(
      'For reference',
      list([...(task?.referenceFiles ?? []), ...subtask.referenceFiles].map(fileText)),
    ),
    session:
      session === undefined ? '' : `Read ${quoted(session)} first: it has the context of this session.`,
    others: section(
      'Others work on these at the same time: leave their files alone',
      list(batchMates.map(mateText)),
    ),
    earlier: section('An attempt before this one was not enough; look at what it left behind', list(earlier)),
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
      const says = check.expectText === undefined ? '' : ` and writes ${JSON.stringify(check.expectText)}`;
      return `${quoted(check.command)} ends with status ${check.expectExit}${says}`;
    }
    case 'file_exists':
      return `${quoted(check.path)} exists`;
    case 'file_contains':
      return `${quoted(check.path)} contains ${JSON.stringify(check.text)}`;
  }
}
