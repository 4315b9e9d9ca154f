import { VolleyError } from '../../core/errors.ts';
import { parseExactJson } from '../../core/json-numbers.ts';
import { nearest } from '../../core/nearest.ts';
import { show } from '../../core/numbers.ts';
import { isObject } from '../../core/values.ts';
import { snakeCase } from '../../core/words.ts';
import { ACTIONS, type ActionName } from './all.ts';
import type { Scope } from './define-action.ts';

export const BATCH_TOOL = 'batch_executor_tool';

/** A request with a known action. Its other fields are not validated yet. */
export interface Request {
  readonly action: ActionName;
  readonly args: Readonly<Record<string, unknown>>;
  /** What was written differently but can only mean this. */
  readonly understood: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

const NAMES: readonly string[] = ACTIONS.map(({ name }) => name);
const ENVELOPE = new Set(['thoughts', 'tool_name', 'tool_args']);
/** The envelopes of other tool APIs, by the field of the tool's name. */
const OTHER_ENVELOPES: Readonly<Record<string, readonly string[]>> = {
  tool_name: ['arguments', 'args', 'input', 'parameters', 'tool_input'],
  name: ['arguments', 'args', 'input', 'parameters'],
  tool: ['arguments', 'args', 'input', 'parameters', 'tool_input'],
};

/** Reads a request: an object or its JSON, bare or in an envelope of `thoughts`, `tool_name`, `tool_args`. */
export function readRequest(request: unknown): Request {
  const { action, thoughts, ...rest } = unwrap(objectOf(request, 'The request'));
  const written = typeof action === 'string' ? snakeCase(action.slice(0, 100)) : action;
  const known = ACTIONS.find(({ name }) => name === written);
  if (known !== undefined) {
    const understood = [
      ...(action === known.name ? [] : [`action: ${show(action)} → ${known.name}`]),
      ...(thoughts === undefined ? [] : ['thoughts: ignored']),
    ];
    return { action: known.name, args: rest, understood };
  }
  const problem = action === undefined ? 'The request has no "action"' : `There is no action ${show(action)}`;
  const close = typeof action === 'string' ? nearest(action, NAMES) : undefined;
  const all = NAMES.join(', ');
  throw new VolleyError(
    action === undefined ? 'INVALID_REQUEST' : 'UNKNOWN_ACTION',
    close === undefined
      ? `${problem}. Use one of ${all}.`
      : `${problem}. Did you mean "${close}"? Known actions: ${all}.`,
    { action, nearest: close },
  );
}

/**
 * Returns the scope that a request needs. It reads envelopes and JSON as the executor does, so that no notation bypasses
 * the check. The executor rejects a request that cannot be read.
 */
export function requestScope(request: unknown): Scope {
  try {
    const { action } = readRequest(request);
    return ACTIONS.find(({ name }) => name === action)!.scope;
  } catch {
    return 'run';
  }
}

/** Returns the requested action for the answer to an invalid request. */
export function requestedAction(request: unknown): string {
  const read = typeof request === 'string' ? parsedOrNot(request) : request;
  if (typeof read !== 'object' || read === null) return '';
  const { action } = read as { action?: unknown };
  if (typeof action === 'string') return action.slice(0, 100);
  const inner = Object.hasOwn(read, 'tool_args') ? 'tool_args' : otherEnvelope(read as Fields);
  return inner === undefined ? '' : requestedAction((read as Fields)[inner]);
}

/** The field with the request, if it is in the envelope of another tool API. */
function otherEnvelope(request: Fields): string | undefined {
  const fields = Object.keys(request).filter((field) => field !== 'thoughts');
  const name = Object.keys(OTHER_ENVELOPES).find((field) => request[field] === BATCH_TOOL);
  if (name === undefined || fields.length !== 2) return undefined;
  return OTHER_ENVELOPES[name]!.find((field) => Object.hasOwn(request, field));
}

function unwrap(request: Fields): Fields {
  const other = otherEnvelope(request);
  if (other !== undefined) return objectOf(request[other], other);
  if (!Object.hasOwn(request, 'tool_args')) return request;
  const { tool_name: name = BATCH_TOOL } = request;
  if (name !== BATCH_TOOL) {
    throw invalid(`The tool_name of the request must be "${BATCH_TOOL}", but it is ${show(name)}`);
  }
  const unknown = Object.keys(request).find((field) => !ENVELOPE.has(field));
  if (unknown !== undefined) {
    throw invalid(
      `The request has a field ${show(unknown)} next to tool_args. Fields of the action belong inside tool_args`,
    );
  }
  return objectOf(request['tool_args'], 'tool_args');
}

function objectOf(value: unknown, what: string): Fields {
  const read = typeof value === 'string' ? parsed(value, what) : value;
  if (isObject(read)) return read as Fields;
  throw invalid(`${what} must be an object such as { "action": "status" }, but it is ${show(read)}`);
}

function parsedOrNot(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function parsed(text: string, what: string): unknown {
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof VolleyError) throw error;
    throw invalid(`${what} is not valid JSON: ${(error as Error).message}`);
  }
}

function invalid(message: string): VolleyError {
  return new VolleyError('INVALID_REQUEST', `${message}.`);
}
