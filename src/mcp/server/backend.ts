import type { BatchExecutor } from '../../batch/batch-executor.ts';
import type { Store } from '../../store/store.ts';
import type { ToolDescription } from '../../tools/registry.ts';

/** What the tools and resources of the MCP server work with. Whoever made it closes it. */
export interface McpBackend {
  readonly executor: BatchExecutor;
  readonly store: Store;
  /** What a batch may call. */
  functions(): Promise<readonly ToolDescription[]>;
}

/** Opens the backend with the first call, so that a client gets its first answer before anything is loaded. */
export type OpenBackend = () => Promise<McpBackend>;

/** From the least to the most; each includes those before it. */
export type McpScope = 'read' | 'run' | 'admin';
