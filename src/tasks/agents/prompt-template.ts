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
