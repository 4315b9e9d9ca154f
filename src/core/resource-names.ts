import { KnownFields } from './check-known.ts';
import { VolleyError } from './errors.ts';
import { nearest } from './nearest.ts';
import { show } from './numbers.ts';
import { RESOURCE_TABLE, type ResourceLimits } from './resource-table.ts';

/** A resource that every engine has. */
type BuiltInResource = 'concurrency' | keyof ResourceLimits;

/** The name of a countable resource: a built-in one such as `cpu`, or one that was declared, such as `gpu`. */
export type ResourceName = BuiltInResource | (string & {});

/** A value for each countable resource. */
export type ByResource<T> = Readonly<Record<BuiltInResource, T>> & Readonly<Record<string, T>>;

/** How much there is of each named resource: `{ gpu: 2, license: 5 }`. */
export type NamedResources = Readonly<Record<string, number>>;

const BUILT_IN: readonly BuiltInResource[] = ['concurrency', ...RESOURCE_TABLE.map(({ name }) => name)];

/** The fields of a demand that are not named resources. */
export const DEMAND_FIELDS: readonly string[] = [
  ...RESOURCE_TABLE.map(({ need }) => need),
  'exclusive',
  'shared',
];

/** The most named resources of a scheduler. */
const MAX_NAMED = 64;

/** What a named resource may be called. */
export const RESOURCE_NAME = {
  pattern: /^[a-z][a-z0-9_-]{0,63}$/,
  valid: '1 to 64 lowercase letters, digits, "_" or "-", starting with a letter',
} as const;

/** Without separators and capitals, so that `memory-mb` is taken for what it means. */
const RESERVED: ReadonlySet<string> = new Set(
  [
    ...RESOURCE_TABLE.flatMap(({ name, configKey, need, wireNeed }) => [name, configKey, need, wireNeed]),
    ...['concurrency', 'maxConcurrency', 'memory', 'exclusive', 'shared', 'resources', 'tools', 'groups'],
  ].map(plain),
);

function plain(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '');
}

/** Why a resource cannot have this name, or undefined. */
export function resourceNameProblem(name: string): string | undefined {
  if (!RESOURCE_NAME.pattern.test(name)) return `must have ${RESOURCE_NAME.valid}`;
  return RESERVED.has(plain(name)) ? 'is reserved for a built-in resource, limit or lock' : undefined;
}

/** The error for a demand of a resource that does not exist. `known` are the valid fields. */
export function unknownResource(field: string, known: Iterable<string>): VolleyError {
  const valid = [...known];
  const close = nearest(field, valid);
  const meant = close === undefined ? '' : ` Did you mean ${show(close)}?`;
  return new VolleyError(
    'UNKNOWN_RESOURCE',
    `There is no resource ${show(field)}.${meant} Known resources: ${valid.join(', ')}. To add another, set its capacity under [limits.resources] in volley.toml, or in the \`resources\` of the engine.`,
    { field, nearest: close, known: valid },
  );
}

class DemandFields extends KnownFields {
  protected override unknown(field: string): VolleyError {
    return unknownResource(field, this.known);
  }
}

/** The countable resources of one scheduler, in the order of its vectors: the built-in ones, then the named ones. */
export class ResourceNames {
  readonly all: ResourceName[] = [...BUILT_IN];
  /** The index of each named resource. */
  readonly named = new Map<string, number>();
  private readonly known = new Set(DEMAND_FIELDS);
  private readonly fields = new DemandFields('field of resources', this.known);

  /** Throws if these names cannot be declared in addition to the present ones. */
  checkNew(names: readonly string[]): void {
    for (const name of names) {
      const problem = resourceNameProblem(name);
      if (problem !== undefined)
        throw new VolleyError('INVALID_VALUE', `The name of the resource ${show(name)} ${problem}.`, {
          name,
        });
    }
    const count = new Set([...this.named.keys(), ...names]).size;
    if (count > MAX_NAMED)
      throw new VolleyError(
        'INVALID_VALUE',
        `There may be at most ${MAX_NAMED} named resources, but there would be ${count}.`,
      );
  }

  /** Returns the index of a named resource, which is new if there was none of this name. */
  declare(name: string): number {
    let index = this.named.get(name);
    if (index === undefined) {
      index = this.all.length;
      this.all.push(name);
      this.named.set(name, index);
      this.known.add(name);
    }
    return index;
  }

  /** Throws if a demand has a field that is neither built in nor declared. */
  check(demand: object): void {
    this.fields.check(demand);
  }

  byResource<T>(valueAt: (index: number) => T): ByResource<T> {
    return Object.fromEntries(this.all.map((name, index) => [name, valueAt(index)])) as ByResource<T>;
  }
}
