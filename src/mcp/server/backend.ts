import type { BatchExecutor } from '../../batch/batch-executor.ts';
import type { Store } from '../../store/store.ts';
import type { FeatureService } from '../../tasks/run/feature-service.ts';
import type { DiscoveredTools } from '../open-coordinator.ts';
import type { BatchNews } from './batch-news.ts';

/** What the tools and resources of the MCP server work with. Whoever made it closes it. */
export interface McpBackend {
  readonly executor: BatchExecutor;
  readonly store: Store;
  /** Of the store. */
  readonly news: BatchNews;
  /** What a batch may call: all of it, or what is needed to find these names. */
  functions(names?: readonly string[]): Promise<DiscoveredTools>;
  /** Of the project; loaded when it is asked for. */
  features(): Promise<FeatureService>;
}

/** Opens the backend with the first call, so that a client gets its first answer before anything is loaded. */
export type OpenBackend = () => Promise<McpBackend>;

/** From the least to the most; each includes those before it. */
export type McpScope = 'read' | 'run' | 'admin';
