import type { CallDefaults } from '../config/config.ts';
import type { ResourceRequirements } from '../core/demand.ts';
import { internalError, VolleyError } from '../core/errors.ts';
import { NearestNames } from '../core/nearest.ts';
import { reasonText } from '../core/words.ts';
import { isThenable } from '../tools/needs.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import type { Tool } from '../tools/tool.ts';
import { askSchema, validInput } from './arguments.ts';
import type { ToolCall } from './call.ts';
import { callIds, checkDependsOn, checkedList } from './call.ts';
import { identityOf } from './identity.ts';
import { type KnownIds, referencesIn, resolveReferences } from './references.ts';
import { type CallSpec, needsOf, specOf } from './spec.ts';

/** How long the schema of a tool may take to answer, before anything runs. The limit of an attempt may be shorter. */
const LONGEST_CHECK_MS = 30_000;

/** A call that was looked at before anything is started. */
export type PlannedCall = ReadyCall | RefusedCall;

/** All that is known of a call. Nothing of the tool's own is asked again until it runs. */
export interface ReadyCall {
  readonly kind: 'ready';
  readonly id: string;
  readonly call: ToolCall;
  readonly tool: Tool;
  /** Checked against the tool's schema, unless it holds references or the tool is not known yet: then that is done later. */
  readonly input: unknown;
  readonly spec: CallSpec;
  /** Undefined if they follow from an input that holds references, or the tool is not known yet. */
  readonly needs: ResourceRequirements | undefined;
  /** Ids of the calls to whose results the arguments refer. */
  readonly references: ReadonlySet<string>;
  /** Possible mistakes in the arguments. */
  readonly warnings: readonly string[];
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

/** What calls are looked at with. */
export interface PlanParts {
  readonly registry: ToolRegistry;
  readonly defaults: CallDefaults;
  /** Throws what the engine has against a call. */
  check(ready: ReadyCall): void;
}

export interface PlanOptions {
  /** Ids that the calls may depend on besides each other. */
  readonly outside?: ReadonlySet<string> | undefined;
  /** Ends the planning: what is not refused already is refused for its reason, a VolleyError. */
  readonly stop?: AbortSignal | undefined;
}

/**
 * Looks at a whole list before anything of it starts. What is wrong with the list itself (an id twice, an unknown
 * dependency) is thrown; what is wrong with one call makes that call a refused one.
 */
export async function planCalls(
  calls: readonly ToolCall[],
  parts: PlanParts,
  { outside = new Set(), stop }: PlanOptions = {},
): Promise<PlannedCall[]> {
  const list = checkedList(calls);
  const ids = callIds(list);
  const known = new Set([...outside, ...ids]);
  const given = list.map(({ dependsOn }, index) => checkDependsOn(ids[index]!, dependsOn, known));
  const names = new NearestNames(() => known);
  const planned: PlannedCall[] = new Array(list.length);
  const open: Promise<void>[] = [];
  for (const [index, call] of list.entries()) {
    const id = ids[index]!;
    const one = planCall({ id, call, given: given[index]!, known: knownTo(id, known, names), stop }, parts);
    if (isThenable(one)) open.push(keep(one, index));
    else planned[index] = one;
  }
  async function keep(one: Promise<PlannedCall>, index: number): Promise<void> {
    planned[index] = await one;
  }
  const looked = Promise.all(open);
  if (stop === undefined) await looked;
  else await untilAborted(looked, stop);
  return stop?.aborted === true
    ? list.map((call, index) => stopped(planned[index], ids[index]!, call, stop.reason))
    : withoutRepetitions(planned);
}

/** The ids that a call may refer to. It never means itself. */
export function knownTo(id: string, known: Pick<KnownIds, 'has'>, names: NearestNames): KnownIds {
  return {
    has: (other) => known.has(other),
    nearest: (name) => {
      const found = names.find(name);
      return found === id ? undefined : found;
    },
  };
}

/** One call to look at, its dependencies known to be right. */
export interface CallToPlan {
  readonly id: string;
  readonly call: ToolCall;
  /** The dependencies that it names. */
  readonly given: readonly string[];
  /** Ids that its arguments may refer to. */
  readonly known: KnownIds;
  readonly stop?: AbortSignal | undefined;
}

/**
 * Looks at one call: at once, unless the schema of its tool takes its time. Never fails: whatever goes wrong makes it a
 * refused call.
 */
export function planCall(one: CallToPlan, parts: PlanParts): PlannedCall | Promise<PlannedCall> {
  const { id, call, given, known, stop } = one;
  const { registry, defaults, check } = parts;
  const refused = (error: unknown): PlannedCall => ({
    kind: 'refused',
    id,
    call,
    error: refusal(call, error),
  });
  try {
    const { ids: references, hasEscapes, warnings } = referencesIn(call.arguments, known);
    const tool = registry.resolve(call.name);
    if (call.invalid !== undefined) {
      throw new VolleyError(
        'INVALID_ARGUMENTS',
        `The arguments of ${tool.name} cannot be read: ${call.invalid}`,
      );
    }
    const isOpen = references.size > 0 || tool.later !== undefined;
    const spec = specOf(call, tool, registry.conflictsOf(tool), defaults);
    const readyWith = (input: unknown): ReadyCall => {
      const ready: ReadyCall = {
        kind: 'ready',
        id,
        call,
        tool,
        input,
        spec,
        needs: isOpen && typeof tool.resources === 'function' ? undefined : needsOf(call, tool, input),
        references,
        warnings,
        dependsOn: isOpen || given.length > 1 ? [...new Set([...given, ...references])] : given,
        sameAs: undefined,
      };
      check(ready);
      return ready;
    };
    if (isOpen) return readyWith(call.arguments);
    const limits = () => ({ limitMs: Math.min(spec.timeoutMs, LONGEST_CHECK_MS), stop });
    const plain = hasEscapes ? resolveReferences(call.arguments, references, noResult) : call.arguments;
    const checked = askSchema(tool, plain ?? {}, limits);
    if (!isThenable(checked)) return readyWith(validInput(tool, checked));
    return checked.then((answer) => readyWith(validInput(tool, answer))).catch(refused);
  } catch (error) {
    return refused(error);
  }
}

/** Where nothing is referred to, nothing is looked up. */
function noResult(id: string): never {
  throw internalError(`The result of ${id} is not needed.`);
}

/** What is thrown by a schema, or by reading the arguments, is no error of Volley's own. */
function refusal({ name }: ToolCall, error: unknown): VolleyError {
  if (error instanceof VolleyError) return error;
  return new VolleyError(
    'INVALID_ARGUMENTS',
    `The arguments of ${name} could not be checked: ${reasonText(error)}`,
    { tool: name },
  );
}

function stopped(
  planned: PlannedCall | undefined,
  id: string,
  call: ToolCall,
  error: VolleyError,
): RefusedCall {
  return planned?.kind === 'refused' ? planned : { kind: 'refused', id, call, error };
}

/** Lets the first of identical calls run for the others, where their tool allows it. */
function withoutRepetitions(planned: PlannedCall[]): PlannedCall[] {
  const runs = new Map<string, string>();
  const replaced = new Map<string, string>();
  for (const one of planned) {
    const identity = one.kind === 'ready' && one.tool.dedupe ? identityOf(one) : undefined;
    if (identity === undefined) continue;
    const first = runs.get(identity);
    if (first === undefined) runs.set(identity, one.id);
    else replaced.set(one.id, first);
  }
  if (replaced.size === 0) return planned;
  const sourceOf = (id: string) => replaced.get(id) ?? id;
  return planned.map((one) =>
    one.kind === 'refused'
      ? one
      : { ...one, sameAs: replaced.get(one.id), dependsOn: [...new Set(one.dependsOn.map(sourceOf))] },
  );
}

function untilAborted(work: Promise<unknown>, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      stop.removeEventListener('abort', end);
      resolve();
    };
    if (stop.aborted) end();
    else stop.addEventListener('abort', end);
    void work.then(end);
  });
}
