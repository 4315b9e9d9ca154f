import { VolleyError } from './errors.ts';
import { checkObject, show } from './numbers.ts';

/** Properties of a worker, such as `{ gpu: true, zone: "a" }`, or those that an execution wants. */
export type Labels = Readonly<Record<string, string | number | boolean>>;

/** Labels that Volley sets itself: what must stay in the coordinator's process, and what a worker has and is. */
export const LOCAL_LABEL = 'local';
export const WORKER_LABEL = 'worker';
export const SHARE_LABEL = 'share';

/** The label under which a worker offers a tool. */
export function toolLabel(name: string): string {
  return `${TOOL_PREFIX}${name}`;
}

/** The tool that a label offers; undefined for other labels. */
export function labeledTool(label: string): string | undefined {
  return label.startsWith(TOOL_PREFIX) ? label.slice(TOOL_PREFIX.length) : undefined;
}

/** The label under which a worker offers a coding agent. */
export function agentLabel(name: string): string {
  return `${AGENT_PREFIX}${name}`;
}

/** The agent that a label offers; undefined for other labels. */
export function labeledAgent(label: string): string | undefined {
  return label.startsWith(AGENT_PREFIX) ? label.slice(AGENT_PREFIX.length) : undefined;
}

/** The label under which a worker offers its clone of a repository. */
export function repositoryLabel(id: string): string {
  return `${REPOSITORY_PREFIX}${id}`;
}

export function isRepositoryLabel(label: string): boolean {
  return label.startsWith(REPOSITORY_PREFIX);
}

/** Whether only Volley sets the label. */
export function isReservedLabel(label: string): boolean {
  return (
    [LOCAL_LABEL, WORKER_LABEL, SHARE_LABEL].includes(label) ||
    [TOOL_PREFIX, AGENT_PREFIX, REPOSITORY_PREFIX].some((prefix) => label.startsWith(prefix))
  );
}

const TOOL_PREFIX = 'tool.';
const AGENT_PREFIX = 'agent.';
const REPOSITORY_PREFIX = 'repository.';
const MAX_LABELS = 1000;
const MAX_LABEL_LENGTH = 256;

/** Validates labels of a worker or an execution. */
export function checkLabels(what: string, labels: unknown): asserts labels is Labels {
  checkObject(what, labels);
  const entries = Object.entries(labels as object);
  const isValid = ([name, value]: [string, unknown]) =>
    name !== '' &&
    name.length <= MAX_LABEL_LENGTH &&
    (typeof value === 'boolean' || typeof value === 'number' || typeof value === 'string') &&
    String(value).length <= MAX_LABEL_LENGTH;
  if (!Array.isArray(labels) && entries.length <= MAX_LABELS && entries.every(isValid)) return;
  throw new VolleyError(
    'INVALID_VALUE',
    `${what} must be up to ${MAX_LABELS} names with strings, numbers or booleans such as { gpu: true }, but they are ${show(labels)}.`,
  );
}

/** Whether two sets of labels are equal. */
export function sameLabels(a: Labels | undefined, b: Labels | undefined): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

/** Whether a worker with these labels has all that are wanted. */
export function offers(labels: Labels, wanted: Labels): boolean {
  for (const name in wanted) if (labels[name] !== wanted[name]) return false;
  return true;
}
