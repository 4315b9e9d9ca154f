/**
 * Every countable resource is one row. Types, defaults, vectors, configuration keys, wire fields and labels derive from
 * it: a new resource is a new row.
 */
interface ResourceRow {
  /** The name of its limit, and of the resource in every answer. */
  readonly name: string;
  /** The name of its limit in `volley.toml`. */
  readonly configKey: string;
  /** The field of {@link ResourceRequirements} that asks for it, and the name of that on the wire. */
  readonly need: string;
  readonly wireNeed: string;
  /** How a need is written: as a number, as a flag that takes one, or as a word with a weight. */
  readonly written: 'number' | 'flag' | (Readonly<Record<string, number>> & { readonly none: 0 });
  /** What an execution takes that says nothing. */
  readonly defaultNeed: number;
  /** The limit where nobody sets one: a number, or what the machine has. */
  readonly defaultLimit: number | 'cores' | 'memory';
  /** The least and the largest limit in `volley.toml`, and whether it must be a whole number. */
  readonly limits: { readonly min: number; readonly max: number; readonly whole: boolean };
  /** What follows an amount in a sentence. */
  readonly unit: string;
  /** The title of its chart. */
  readonly label: string;
  /** What its limit does. */
  readonly limitHelp: string;
  readonly needHelp?: string;
}

export const RESOURCE_TABLE = [
  {
    name: 'cpu',
    configKey: 'cpu',
    need: 'cpu',
    wireNeed: 'cpu',
    written: 'number',
    defaultNeed: 0.1,
    defaultLimit: 'cores',
    limits: { min: 0.1, max: 1_000_000, whole: false },
    unit: 'cpu',
    label: 'CPU cores',
    limitHelp: 'How many cores the running calls may claim together.',
    needHelp: 'Cores.',
  },
  {
    name: 'memoryMb',
    configKey: 'memory_mb',
    need: 'memoryMb',
    wireNeed: 'memory_mb',
    written: 'number',
    defaultNeed: 100,
    defaultLimit: 'memory',
    limits: { min: 1, max: 1_000_000_000, whole: true },
    unit: 'MB of memory',
    label: 'Memory, MB',
    limitHelp: 'How much memory the running calls may claim together.',
  },
  {
    name: 'ioOperations',
    configKey: 'io_operations',
    need: 'io',
    wireNeed: 'io',
    written: { none: 0, low: 1, medium: 2, high: 4 },
    defaultNeed: 1,
    defaultLimit: 64,
    limits: { min: 1, max: 1_000_000, whole: true },
    unit: 'I/O operations',
    label: 'Input and output',
    limitHelp: 'How much disk work the running calls may claim together.',
  },
  {
    name: 'networkOperations',
    configKey: 'network_operations',
    need: 'network',
    wireNeed: 'network',
    written: 'flag',
    defaultNeed: 0,
    defaultLimit: 64,
    limits: { min: 1, max: 1_000_000, whole: true },
    unit: 'network operations',
    label: 'Network',
    limitHelp: 'How many network operations the running calls may claim together.',
  },
] as const satisfies readonly ResourceRow[];

type Row = (typeof RESOURCE_TABLE)[number];

type Written<R extends Row> = R['written'] extends 'number'
  ? number
  : R['written'] extends 'flag'
    ? boolean
    : keyof R['written'];

/** What an execution may ask for, by the field that says it. */
export type CountableNeeds = { readonly [R in Row as R['need']]?: Written<R> };

/** How much of each countable resource all running executions together may use; what is left out is unlimited. */
export type ResourceLimits = { readonly [R in Row as R['name']]?: number };

/** A number for each resource, by the key of its limit in `volley.toml`. */
export type ByConfigKey = { [R in Row as R['configKey']]: number };

/** Asks for none of any resource, in the words of the core and in those of the wire. */
export const NO_NEEDS = noNeeds('need') as Required<CountableNeeds>;
export const NO_WIRE_NEEDS = noNeeds('wireNeed');

function noNeeds(key: 'need' | 'wireNeed'): Readonly<Record<string, unknown>> {
  const none = ({ written }: Row) => (written === 'number' ? 0 : written === 'flag' ? false : 'none');
  return Object.freeze(Object.fromEntries(RESOURCE_TABLE.map((row) => [row[key], none(row)])));
}

/** The default limit of each resource, by the field that names it, on a machine with so much. */
export function defaultLimits<K extends 'name' | 'configKey'>(
  key: K,
  machine: { readonly cores: number; readonly memoryMb: number },
): { [R in Row as R[K]]: number } {
  return Object.fromEntries(
    RESOURCE_TABLE.map(({ [key]: name, defaultLimit }) => [
      name,
      defaultLimit === 'cores' ? machine.cores : defaultLimit === 'memory' ? machine.memoryMb : defaultLimit,
    ]),
  ) as { [R in Row as R[K]]: number };
}
