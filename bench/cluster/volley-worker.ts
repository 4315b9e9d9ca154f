import { ClusterWorker, defaultConfig, ParallelToolCoordinator } from '../../dist/internals.js';
import { HOLD, NO_OP } from './tools.ts';

const [settings, name, concurrency] = process.argv.slice(2) as [string, string, string];
const config = defaultConfig();
const limits = { ...config.limits, maxConcurrency: Number(concurrency) };
const own = { ...config, limits };
const tools = new ParallelToolCoordinator({ config: own });
tools.register(NO_OP, HOLD);
await ClusterWorker.join({ settings: JSON.parse(settings), config: own, tools, name });
process.send!('ready');
