/** How a server is. `waiting`: it failed, and is not tried again before `retryInMs` are over. */
export type McpServerStatus = 'idle' | 'starting' | 'ready' | 'failed' | 'waiting' | 'closed';

/** What is known of a server. */
export interface McpServerHealth {
  readonly name: string;
  readonly kind: 'stdio' | 'http';
  readonly status: McpServerStatus;
  /** How many of its tools can be called. */
  readonly tools: number;
  /** The process of a server on this machine. */
  readonly pid?: number;
  /** How often it was started, or reached, again. */
  readonly restarts: number;
  readonly calls: number;
  /** Calls that failed, whatever the reason. */
  readonly failedCalls: number;
  /** Why it could not be started, or ended. */
  readonly problem?: string;
  readonly retryInMs?: number;
}
