import { type ParallelAgentTool, ParallelToolCoordinator, type ToolContext } from 'volley';

// #region class
class Compress implements ParallelAgentTool<{ path: string }, string> {
  readonly name = 'compress';
  readonly inputSchema = {
    type: 'object',
    properties: { path: { type: 'string' } },
    required: ['path'],
  };

  execute({ path }: { path: string }, { report }: ToolContext) {
    report(0.5, 'half of it');
    return `${path}.gz`;
  }

  resourceRequirements() {
    return { cpu: 1, memoryMb: 200, io: 'high' as const };
  }

  canRunParallelWith(other: string) {
    return other !== 'backup';
  }
}
// #endregion class

const coordinator = new ParallelToolCoordinator();
const compress = new Compress();
coordinator.register(compress);
const result = await coordinator.call(compress, { path: 'a.txt' });
if (result.status !== 'completed' || result.value !== 'a.txt.gz') throw new Error(JSON.stringify(result));
await coordinator.close();
