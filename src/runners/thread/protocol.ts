import type { MessagePort } from 'node:worker_threads';
import type { PortableCode } from '../load-code.ts';
import type { WireError } from '../wire-error.ts';

/** The start data of a thread. It has its own port: `parentPort` belongs to the tools. */
export interface ThreadData {
  readonly port: MessagePort;
  readonly claims: SharedArrayBuffer;
  readonly answers: SharedArrayBuffer;
}

/** From the host. Lists instead of objects for frequent data: they are cheaper to send. */
export type HostMessage =
  | {
      readonly kind: 'calls';
      /** Whether to forget all tools sent before. */
      readonly forget: boolean;
      readonly tools: readonly ToolMessage[];
      readonly calls: readonly CallMessage[];
    }
  | { readonly kind: 'abort'; readonly slot: number; readonly reason: WireError };

/** A tool that the thread does not know yet. */
export type ToolMessage = readonly [tool: number, toolName: string, code: PortableCode];

/** `resultBytes` is -1 for no limit. */
export type CallMessage = readonly [
  slot: number,
  tool: number,
  id: string,
  attempt: number,
  resultBytes: number,
  input: unknown,
];

/** The kind of a message from a thread; its first element. */
export const READY = 0;
export const VALUE = 1;
export const ERROR = 2;
export const PROGRESS = 3;
export const LOOK = 4;
export const OUTPUT = 5;

/**
 * From a thread. An answer is sent, or left in shared memory, before the next call is claimed, so that none is lost,
 * whatever the next one does to the thread.
 */
export type ThreadMessage =
  | readonly [typeof READY]
  /** There are answers in shared memory. */
  | readonly [typeof LOOK]
  | readonly [typeof VALUE, slot: number, durationMs: number, value: unknown]
  | readonly [typeof ERROR, slot: number, durationMs: number, error: WireError]
  | readonly [typeof PROGRESS, slot: number, share: number | undefined, step: string | undefined]
  /** What the call printed or logged. */
  | readonly [typeof OUTPUT, slot: number, stream: 'stdout' | 'stderr' | 'log', text: string];
