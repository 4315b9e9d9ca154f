import { batchGrowth } from './batch/growth-scenario.ts';
import { items } from './batch/items-scenario.ts';
import { batch } from './batch/scenario.ts';
import { largeBatch } from './batch/store-scenario.ts';
import { cli } from './cli/scenario.ts';
import { placementQuality } from './cluster/quality-scenario.ts';
import { clusterScale } from './cluster/scale-scenario.ts';
import { cluster } from './cluster/scenario.ts';
import { eventLoop } from './event-loop/scenario.ts';
import { graph } from './graph/scenario.ts';
import { featureGrowth } from './growth/features.ts';
import { lockGrowth } from './growth/lock.ts';
import { nodeGrowth } from './growth/nodes.ts';
import type { Scenario } from './harness/scenario.ts';
import { http } from './http/scenario.ts';
import { latency } from './latency/scenario.ts';
import { mcp } from './mcp/scenario.ts';
import { mcpStart } from './mcp/start-scenario.ts';
import { memory } from './memory/scenario.ts';
import { noOps } from './no-ops/scenario.ts';
import { processes } from './processes/scenario.ts';
import { sandbox } from './sandbox/scenario.ts';
import { schedules } from './schedules/scenario.ts';
import { simulation } from './simulation/scenario.ts';
import { sse } from './sse/scenario.ts';
import { threads } from './threads/scenario.ts';

export const SCENARIOS: readonly Scenario[] = [
  noOps,
  graph,
  nodeGrowth,
  lockGrowth,
  featureGrowth,
  latency,
  memory,
  eventLoop,
  simulation,
  schedules,
  threads,
  processes,
  cli,
  sandbox,
  batch,
  largeBatch,
  batchGrowth,
  items,
  cluster,
  clusterScale,
  placementQuality,
  sse,
  http,
  mcp,
  mcpStart,
];

export function findScenario(name: string): Scenario {
  const found = SCENARIOS.find((scenario) => scenario.name === name);
  if (found !== undefined) return found;
  const known = SCENARIOS.map((scenario) => scenario.name).join(', ');
  throw new Error(`Unknown scenario ${JSON.stringify(name)}: use one of ${known}.`);
}
