/**
 * Every countable resource is one row. Types, defaults, vectors, configuration keys, wire fields and labels derive from
 * it: a new resource is a new row.
 */
interface ResourceRow {
  /** The name of its limit, and of the resource in all output. */
  readonly name: string;
  /** The name of its limit in `volley.toml`. */
  readonly configKey: string;
  /** The field of {@link ResourceRequirements} that requests it, and its wire name. */
  readonly need: string;
  readonly wireNeed: string;
  /** How a request is written: a number, a flag that takes one, or a word with a weight. */
  readonly written: 'number' | 'flag' | (Readonly<Record<string, number>> & { readonly none: 0 });
  /** The default request of an execution. */
  readonly defaultNeed: number;
  /** The default limit: a number, or the capacity of the machine. */
  readonly defaultLimit: number | 'cores' | 'memory';
  /** The minimum and maximum limit in `volley.toml`, and whether it must be an integer. */
  readonly limits: { readonly min: number; readonly max: number; readonly whole: boolean };
  /** The unit after an amount in a sentence. */
  readonly unit: string;
  /** The title of its chart. */
  readonly label: string;
  /** A description of its limit. */
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

/** The requests of an execution, by field. */
export type CountableNeeds = { readonly [R in Row as R['need']]?: Written<R> };

/** How much of each countable resource all running executions together may use. Omitted resources are unlimited. */
export type ResourceLimits = { readonly [R in Row as R['name']]?: number };

/** A number for each resource, by the key of its limit in `volley.toml`. */
export type ByConfigKey = { [R in Row as R['configKey']]: number };

/** Requests none of any resource, with core names and with wire names. */
export const NO_NEEDS = noNeeds('need') as Required<CountableNeeds>;
export const NO_WIRE_NEEDS = noNeeds('wireNeed');

function noNeeds(key: 'need' | 'wireNeed'): Readonly<Record<string, unknown>> {
  const none = ({ written }: Row) => (written === 'number' ? 0 : written === 'flag' ? false : 'none');
  return Object.freeze(Object.fromEntries(RESOURCE_TABLE.map((row) => [row[key], none(row)])));
}

/** The default limit of each resource, by field, for a machine of the given size. */
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
