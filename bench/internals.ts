/** What benchmarks time of the built program beyond its public names. `npm run bench` builds it into `dist/internals.js`. */
export { ClusterCoordinator } from '../src/cluster/coordinator.ts';
export { ClusterWorker } from '../src/cluster/worker.ts';
export { defaultConfig } from '../src/config/config.ts';
export { ParallelToolCoordinator } from '../src/coordinator/coordinator.ts';
export { Confinement } from '../src/runners/process/confinement.ts';
export { createLauncher } from '../src/runners/process/helper-launcher.ts';
export { ProcessRunner } from '../src/runners/process/process-runner.ts';
export { ThreadRunner } from '../src/runners/thread/thread-runner.ts';
export { EventHub } from '../src/server/events/event-hub.ts';
export { shellTool } from '../src/tools/builtin/shell.ts';
