/** A place where calls run. */
export type RunnerKind = 'inline' | 'thread' | 'process';

/** A fault of a tool, and the runners in which only that call is affected. */
export interface Containment {
  /** A description of the fault, for tables. */
  readonly fault: string;
  readonly containedBy: readonly RunnerKind[];
}

const ALL = ['inline', 'thread', 'process'] as const;
const OTHER_THREADS = ['thread', 'process'] as const;
const PROCESSES = ['process'] as const;

/**
 * Which faults each runner contains: the call ends with its reason, and nothing else is affected. The runners'
 * conformance suite tests exactly these.
 */
export const CONTAINS = {
  error: { fault: 'throws an error', containedBy: ALL },
  typedError: { fault: 'throws a failure that says its reason', containedBy: ALL },
  cancelled: { fault: 'is cancelled and obeys its signal', containedBy: ALL },
  timeout: { fault: 'takes too long and obeys its signal', containedBy: ALL },
  endlessLoop: { fault: 'never ends, and ignores its signal', containedBy: OTHER_THREADS },
  strayError: { fault: 'throws in a callback that nobody waits for', containedBy: OTHER_THREADS },
  exit: { fault: 'calls process.exit()', containedBy: OTHER_THREADS },
  unserialisableResult: { fault: 'returns what cannot be sent', containedBy: OTHER_THREADS },
  resultTooLarge: { fault: 'returns more than `resultBytes`', containedBy: OTHER_THREADS },
  heapGrowth: { fault: 'fills the heap little by little', containedBy: PROCESSES },
  hugeArray: { fault: 'asks for one huge array', containedBy: PROCESSES },
  buffers: { fault: 'fills memory outside the heap (Buffers)', containedBy: PROCESSES },
  crash: { fault: 'crashes its process (abort, segmentation fault)', containedBy: PROCESSES },
  cpuTime: { fault: 'uses more CPU time than `cpuMs`', containedBy: PROCESSES },
  orphan: { fault: 'leaves processes behind', containedBy: PROCESSES },
  manyProcesses: { fault: 'starts processes without end', containedBy: PROCESSES },
  outputFlood: { fault: 'floods its output', containedBy: PROCESSES },
} as const satisfies Readonly<Record<string, Containment>>;

/** The name of a fault in {@link CONTAINS}. */
export type Fault = keyof typeof CONTAINS;
