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

/** The values of names such as `item` and `index`; undefined where there is none. */
export type ItemNames = Readonly<Record<string, unknown>>;

/** A resolved value, or why it could not be computed. */
export type Resolved<T> = { readonly value: T } | { readonly problem: VolleyError };

const PER_TURN = 200;
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

  /** Resolves it for each item and passes the results through `finish`, which may throw. */
  async resolve<T>(items: readonly ItemNames[], finish: (value: unknown) => T): Promise<Resolved<T>[]> {
    const computed = new Map<string, readonly Resolved<string | undefined>[]>();
    for (const source of this.references.expressions)
      computed.set(source, await this.evaluated(source, items));
    const resolved: Resolved<T>[] = [];
    for (const [index, names] of items.entries()) {
      if (index % PER_TURN === PER_TURN - 1) await nextTurn();
      const lookup = (id: string) => (this.known.names.has(id) ? namedValue(id, names) : this.resultOf(id));
      const expression = (source: string) => parsed(computed.get(source)![index]!);
      try {
        resolved.push({ value: finish(resolveReferences(this.data, this.known, lookup, expression)) });
      } catch (error) {
        if (!(error instanceof VolleyError)) throw error;
        resolved.push({ problem: error });
      }
    }
    return resolved;
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
