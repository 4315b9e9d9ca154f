import { VolleyError } from '../core/errors.ts';
import { nearest } from '../core/nearest.ts';
import { show } from '../core/numbers.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import type { Tool } from '../tools/tool.ts';
import { checkArguments } from './arguments.ts';
import type { ToolCall } from './call.ts';
import { identityOf } from './identity.ts';
import { referencesIn } from './references.ts';

/** A call that was looked at before anything is started. */
export type PlannedCall = ReadyCall | RefusedCall;

export interface ReadyCall {
  readonly kind: 'ready';
  readonly id: string;
  readonly call: ToolCall;
  readonly tool: Tool;
  /** Checked against the tool's schema, unless it holds references: then that is done when they are resolved. */
  readonly input: unknown;
  /** Ids of the calls to whose results the arguments refer. */
  readonly references: ReadonlySet<string>;
  /** Ids of calls, given or referred to; those of identical calls are replaced by the one that runs. */
  readonly dependsOn: readonly string[];
  /** The identical call that runs for this one, too. */
  readonly sameAs: string | undefined;
}

/** A call that cannot be started. It fails by itself, and the others go on. */
interface RefusedCall {
  readonly kind: 'refused';
  readonly id: string;
  readonly call: ToolCall;
  readonly error: VolleyError;
}

const MOST_CALLS = 100_000;
const LONGEST_ID = 128;
const FIELDS = new Set<string>(
  `id name arguments invalid dependsOn onDependencyFailure priority timeoutMs stallMs deadlineMs retry
  resources`.split(/\s+/),
);

/**
 * Looks at a whole list before anything of it starts; its calls may depend on each other and on those of `outside`. What is wrong with the list itself (an id twice, an unknown
 * dependency) is thrown; what is wrong with one call makes that call a refused one.
 */
export async function planCalls(
  calls: readonly ToolCall[],
  registry: ToolRegistry,
  check: (ready: ReadyCall) => void,
  outside: ReadonlySet<string> = new Set(),
): Promise<PlannedCall[]> {
  const ids = callIds(calls);
  const known = new Set([...outside, ...ids]);
  const runs = new Map<string, string>();
  const replaced = new Map<string, string>();
  const planned: PlannedCall[] = [];
  for (const [index, call] of calls.entries()) {
    const id = ids[index]!;
    const dependsOn = checkDependsOn(id, call.dependsOn, known);
    try {
      const references = referencesIn(call.arguments, known);
      const ready = await readyCall(id, call, registry, references, dependsOn);
      check(ready);
      const identity = ready.tool.dedupe ? identityOf(ready) : undefined;
      const sameAs = identity === undefined ? undefined : runs.get(identity);
      if (sameAs !== undefined) replaced.set(id, sameAs);
      else if (identity !== undefined) runs.set(identity, id);
      planned.push({ ...ready, sameAs });
    } catch (error) {
      if (!(error instanceof VolleyError)) throw error;
      planned.push({ kind: 'refused', id, call, error });
    }
  }
  return replaced.size === 0 ? planned : planned.map((one) => withoutReplaced(one, replaced));
}

async function readyCall(
  id: string,
  call: ToolCall,
  registry: ToolRegistry,
  references: ReadonlySet<string>,
  dependsOn: readonly string[],
): Promise<ReadyCall> {
  const tool = registry.resolve(call.name);
  if (call.invalid !== undefined) {
    throw new VolleyError(
      'INVALID_ARGUMENTS',
      `The arguments of ${tool.name} cannot be read: ${call.invalid}`,
    );
  }
  return {
    kind: 'ready',
    id,
    call,
    tool,
    input: references.size > 0 ? call.arguments : await checkArguments(tool, call.arguments ?? {}),
    references,
    dependsOn: [...new Set([...dependsOn, ...references])],
    sameAs: undefined,
  };
}

function withoutReplaced(planned: PlannedCall, replaced: ReadonlyMap<string, string>): PlannedCall {
  if (planned.kind === 'refused') return planned;
  return { ...planned, dependsOn: [...new Set(planned.dependsOn.map((id) => replaced.get(id) ?? id))] };
}

/** The given ids, and names for the calls that have none. */
function callIds(calls: readonly ToolCall[]): string[] {
  if (!Array.isArray(calls)) throw invalid(`The calls must be a list, but they are ${show(calls)}`);
  if (calls.length > MOST_CALLS)
    throw invalid(`There are ${calls.length} calls, but at most ${MOST_CALLS} fit in one list`);
  const given = new Set<string>();
  for (const [index, call] of calls.entries()) {
    checkShape(call, index);
    if (call.id === undefined) continue;
    if (given.has(call.id)) {
      throw new VolleyError('DUPLICATE_ID', `Two calls have the id ${show(call.id)}: give each its own.`, {
        id: call.id,
      });
    }
    given.add(call.id);
  }
  return calls.map(({ id }, index) => id ?? freeId(index + 1, given));
}

function freeId(number: number, given: ReadonlySet<string>): string {
  let id = `call-${number}`;
  while (given.has(id)) id += "'";
  return id;
}

function checkShape(call: unknown, index: number): asserts call is ToolCall {
  const which = `Call ${index + 1}`;
  if (typeof call !== 'object' || call === null || Array.isArray(call))
    throw invalid(
      `${which} must be an object such as { name: "read_file", arguments: { … } }, but it is ${show(call)}`,
    );
  const { id, name } = call as ToolCall;
  if (typeof name !== 'string' || name === '')
    throw invalid(`${which} has no name of a tool: its name is ${show(name)}`);
  if (id !== undefined && (typeof id !== 'string' || id === '' || id.length > LONGEST_ID))
    throw invalid(
      `The id of call ${index + 1} (${name}) must be a text of 1 to ${LONGEST_ID} characters, but it is ${show(id)}`,
    );
  for (const field of Object.keys(call)) {
    if (FIELDS.has(field)) continue;
    const close = nearest(field, FIELDS);
    throw invalid(
      `${which} (${name}) has a field "${field}" that calls do not have${close === undefined ? '' : `; did you mean "${close}"?`}`,
    );
  }
}

function checkDependsOn(id: string, dependsOn: unknown, known: ReadonlySet<string>): readonly string[] {
  if (dependsOn === undefined) return [];
  if (!Array.isArray(dependsOn))
    throw invalid(`dependsOn of ${id} must be a list of ids, but it is ${show(dependsOn)}`);
  for (const dependency of dependsOn) {
    if (known.has(dependency)) continue;
    const close = typeof dependency === 'string' ? nearest(dependency, known) : undefined;
    throw new VolleyError(
      'UNKNOWN_DEPENDENCY',
      `${id} depends on ${show(dependency)}, but no call of the list has this id${close === undefined ? '' : `; did you mean ${show(close)}?`}`,
      { id, dependency },
    );
  }
  return dependsOn;
}

function invalid(message: string): VolleyError {
  return new VolleyError('INVALID_CALL', `${message}.`);
}
