import { type CallToolResult, Client } from '@modelcontextprotocol/client';
import { discoveredTools } from '../../../../src/mcp/open-coordinator.ts';
import type { Offer } from '../../../../src/mcp/server/serve-tools.ts';
import type { McpBackend } from '../../../../src/mcp/server/tool.ts';
import { StoreWatch } from '../../../../src/store/store-watch.ts';
import type { Rig } from '../../../batch/support/rig.ts';

/** Revisions that a client may ask for. */
export const REVISIONS = ['2026-07-28', '2025-11-25', '2025-06-18'] as const;

export type Revision = (typeof REVISIONS)[number];

/** A client that speaks one revision only. */
export function clientOf(revision: Revision): Client {
  const isModern = revision === '2026-07-28';
  return new Client(
    { name: 'test', version: '1.0.0' },
    isModern
      ? { versionNegotiation: { mode: { pin: revision } } }
      : { supportedProtocolVersions: [revision] },
  );
}

/** All tools but those for features. */
export const OFFER: Offer = { profile: async () => 'default', hasFeatures: async () => false };

/** What the server works with, on the parts of a rig. */
export function backendOf({ executor, store, coordinator }: Rig): McpBackend {
  return {
    executor,
    store,
    watch: new StoreWatch(store),
    keepRunsMs: 7 * 24 * 3_600_000,
    functions: (names) => discoveredTools(coordinator, names),
    features: async () => {
      throw new Error('no test of batches asks for features');
    },
  };
}

export function textOf(result: CallToolResult): string {
  return result.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of all shapes
export function dataOf(result: CallToolResult): any {
  return result.structuredContent;
}
