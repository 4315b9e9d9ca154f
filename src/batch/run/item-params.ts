import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type References,
  type Results,
  referencesIn,
  resolveReferences,
} from '../../coordinator/references.ts';
import { VolleyError } from '../../core/errors.ts';
import { evaluateMany } from '../../script/evaluate.ts';
import type { TaskOptions } from '../../store/records.ts';

/** The values of names such as `item` and `index`. A missing name has the value undefined. */
export type ItemNames = Readonly<Record<string, unknown>>;

/** A resolved value, or why it could not be computed. */
export type Resolved<T> = { readonly value: T } | { readonly problem: VolleyError };

const SLICE = 500;
const NO_NAMES: ReadonlySet<string> = new Set();

/** Data with references, of a group whose dependencies have ended. It is resolved for each item. */
export class Template {
  /** Parsed once for all items. */
  private readonly values = new Map<string, unknown>();

  private constructor(
    private readonly data: unknown,
    private readonly known: { has(id: string): boolean; readonly names: ReadonlySet<string> },
    private readonly references: References,
    private readonly results: Results,
  ) {}

  static async read(
    data: unknown,
    { dependsOn, mentions }: TaskOptions,
    resultsOf: (ids: ReadonlySet<string>) => Promise<Results>,
    names = NO_NAMES,
  ): Promise<Template> {
    const ids = new Set(dependsOn);
    const known = { has: (id: string) => ids.has(id), names };
    const references = referencesIn(data, { ...known, mentions: new Set(mentions) });
    return new Template(data, known, references, await resultsOf(references.ids));
  }

  /** Resolves it for each item. Yields one slice after another, so that other work can go on. */
  async *resolve(items: readonly ItemNames[]): AsyncGenerator<Resolved<unknown>[], void, undefined> {
    for (let start = 0; start < items.length; start += SLICE) {
      if (start > 0) await nextTurn();
      const slice = items.slice(start, start + SLICE);
      const computed = new Map<string, readonly Resolved<string | undefined>[]>();
      for (const source of this.references.expressions)
        computed.set(source, await this.evaluated(source, slice));
      yield slice.map((names, index) => this.resolved(names, (source) => computed.get(source)![index]!));
    }
  }

  private resolved(
    names: ItemNames,
    computed: (source: string) => Resolved<string | undefined>,
  ): Resolved<unknown> {
    try {
      const lookup = (id: string) => (this.known.names.has(id) ? namedValue(id, names) : this.resultOf(id));
      return {
        value: resolveReferences(this.data, this.known, lookup, (source) => parsed(computed(source))),
      };
    } catch (error) {
      if (!(error instanceof VolleyError)) throw error;
      return { problem: error };
    }
  }

  private resultOf(id: string): unknown {
    if (!this.values.has(id)) this.values.set(id, this.results.value(id));
    return this.values.get(id);
  }

  private async evaluated(
    source: string,
    items: readonly ItemNames[],
  ): Promise<Resolved<string | undefined>[]> {
    const results = new Map([...this.references.mentions].map((id) => [id, this.results.json(id)]));
    const evaluations = await evaluateMany({ source, results }, items.map(jsonOf));
    return evaluations.map((one) =>
      one.error === undefined ? { value: one.value } : { problem: one.error },
    );
  }
}

function parsed(computed: Resolved<string | undefined>): unknown {
  if ('problem' in computed) throw computed.problem;
  return computed.value === undefined ? undefined : JSON.parse(computed.value);
}

function jsonOf(names: ItemNames): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(names).map(([name, value]) => [name, JSON.stringify(value)]));
}

function namedValue(name: string, names: ItemNames): unknown {
  const value = names[name];
  if (value !== undefined) return value;
  throw new VolleyError(
    'UNRESOLVED_REFERENCE',
    `The params refer to "${name}", which has no value in the first round. Use an expression such as {"$expr": "${name}?.next"}.`,
    { id: name },
  );
}
