import type { ToolCall } from '../../coordinator/call.ts';
import { withExpression } from '../../coordinator/compute.ts';
import {
  checkedMentions,
  type KnownIds,
  mentionedIds,
  type References,
  referencesIn,
  type WholeReference,
  wholeReference,
} from '../../coordinator/references.ts';
import { VolleyError } from '../../core/errors.ts';
import { show } from '../../core/numbers.ts';
import { COMPUTE, RUN_PROGRAM } from '../../core/script-tools.ts';
import { type ForEach, RETURN_ID, type TaskInput } from './fields.ts';

/** What a task refers to. */
export interface TaskReferences {
  /** All tasks whose results it uses. */
  readonly ids: ReadonlySet<string>;
  /** Those that its expressions mention. */
  readonly mentions: ReadonlySet<string>;
  readonly params: References;
}

/** The names of values in the params of items. */
export const ITEM_NAMES: ReadonlySet<string> = new Set(['item', 'index']);
export const ROUND_NAMES: ReadonlySet<string> = new Set(['last', 'index']);
const UNTIL_NAMES: ReadonlySet<string> = new Set(['result', 'last', 'index']);
/** A string that consists of one placeholder. */
const WHOLE_PLACEHOLDER = /^\$\{([^{}]*)\}$/;
const NONE: ReadonlySet<string> = new Set();
/** How many tasks a `return` that uses all results may follow. */
const MAX_USED = 10_000;

/** Finds the references of a task. `together` lists the ids of all tasks that are added with it, unless there are many. */
export function taskReferences(
  input: TaskInput,
  known: KnownIds,
  together: readonly string[] | 'many',
): TaskReferences {
  const { when, for_each, repeat } = input;
  if (when === undefined && for_each === undefined && repeat === undefined) {
    const params = paramReferences(input, known, together);
    return { ids: params.ids, mentions: params.mentions, params };
  }
  const ids = new Set<string>();
  const mentions = new Set<string>();
  const add = (found: Pick<References, 'ids' | 'mentions'>) => {
    for (const id of found.ids) ids.add(id);
    for (const id of found.mentions) mentions.add(id);
  };
  const mention = (source: string | undefined, place: string, scope: KnownIds) => {
    if (source === undefined) return;
    const found = mentionedIds(source, place, scope);
    add({ ids: found, mentions: found });
  };
  const names = for_each !== undefined ? ITEM_NAMES : repeat !== undefined ? ROUND_NAMES : undefined;
  mention(when, 'Its "when"', known);
  mention(repeat?.until, 'The "until" of its "repeat"', { ...known, names: UNTIL_NAMES });
  if (for_each !== undefined) add(listReferences(for_each, known));
  const params = paramReferences(input, names === undefined ? known : { ...known, names }, together);
  add(params);
  return { ids, mentions, params };
}

/** The form in which a `for_each` is evaluated. */
export type ListSource =
  | { readonly kind: 'glob'; readonly glob: string }
  | { readonly kind: 'expression'; readonly source: string }
  | ({ readonly kind: 'reference' } & WholeReference)
  /** Data with references in it, or a typed reference. */
  | { readonly kind: 'data'; readonly data: unknown };

export function listSource(forEach: ForEach, known: Pick<KnownIds, 'has'>): ListSource {
  if (typeof forEach === 'string') {
    const reference = wholeReference(forEach, known);
    return reference === undefined
      ? { kind: 'expression', source: forEach }
      : { kind: 'reference', ...reference };
  }
  const { glob, $expr } = forEach as { glob?: string; $expr?: string };
  if (typeof glob === 'string') return { kind: 'glob', glob };
  if (typeof $expr === 'string') return { kind: 'expression', source: $expr };
  return { kind: 'data', data: forEach };
}

function listReferences(forEach: ForEach, known: KnownIds): Pick<References, 'ids' | 'mentions'> {
  const source = listSource(forEach, known);
  switch (source.kind) {
    case 'glob':
      return { ids: NONE, mentions: NONE };
    case 'reference':
      return { ids: new Set([source.id]), mentions: NONE };
    case 'data':
      return referencesIn(source.data, known);
    case 'expression': {
      const [, inner] = WHOLE_PLACEHOLDER.exec(source.source) ?? [];
      if (inner !== undefined) throw unknownReference(inner, known);
      const ids = mentionedIds(source.source, 'Its "for_each"', known);
      return { ids, mentions: ids };
    }
  }
}

function unknownReference(inner: string, known: KnownIds): VolleyError {
  const id = inner.split(/[.[]/, 1)[0]!;
  const meant = known.nearest?.(id);
  return new VolleyError(
    'UNKNOWN_DEPENDENCY',
    `Its "for_each" refers to the result of ${show(id)}, but no task in the batch has this id.${meant === undefined ? '' : ` Did you mean ${show(meant)}?`}`,
    { id, nearest: meant },
  );
}

function paramReferences(
  input: TaskInput,
  known: KnownIds,
  together: readonly string[] | 'many',
): References {
  // The text of a program has placeholders of its own.
  if (input.function === RUN_PROGRAM) return referencesIn(input.params['args'], known);
  const call: ToolCall = withExpression({ name: input.function, arguments: input.params });
  if (input.id !== RETURN_ID || input.function !== COMPUTE) return referencesIn(call.arguments, known);
  // A batch may return something that uses all results.
  const source = input.params['expression'];
  if (typeof source !== 'string') return referencesIn(call.arguments, known);
  const { ids, usesAll } = checkedMentions(source, 'The "return" of the batch', known);
  const all = together === 'many' ? [] : together;
  const found = usesAll ? new Set(all.filter((id) => id !== RETURN_ID)) : ids;
  if (usesAll && (together === 'many' || found.size > MAX_USED))
    throw new VolleyError(
      'INVALID_EXPRESSION',
      `The "return" of the batch uses all results, which is possible with at most ${MAX_USED} tasks. Name the results it needs.`,
    );
  const expressions = new Set([source]);
  return { ids: found, mentions: found, expressions, usesNames: false, hasEscapes: false, warnings: [] };
}
