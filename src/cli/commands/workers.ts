import { loadConfig } from '../../config/load.ts';
import type { OfferedAgents } from '../../coordinator/remote-runner.ts';
import { isReservedLabel, labeledTool } from '../../core/labels.ts';
import { printableLine } from '../../core/printable-text.ts';
import { countText, listText, spanText } from '../../core/words.ts';
import { EXIT } from '../output/io.ts';
import { writeNote } from '../output/messages.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';
import { clusterSettings } from '../session/cluster.ts';
import { JOIN_OPTION } from './worker.ts';

interface WorkersOptions extends CommonOptions {
  readonly join?: string;
}

export const workersCommand = defineCommand<WorkersOptions>({
  examples: ['volley workers', 'volley workers --json'],
  declare: (program) => program.option(...JOIN_OPTION),
  run: async (_, { config: file, join, json = false }, io) => {
    const { config } = await loadConfig({ cwd: io.cwd, env: io.env, ...(file !== undefined && { file }) });
    const { listWorkers } = await import('../../cluster/list-workers.ts');
    const { workers, strangers } = await listWorkers(clusterSettings(config, join, io));
    if (strangers.length > 0) writeNote(printableLine(strangersText(strangers)), io);
    if (json) {
      io.stdout.writeJson({
        ok: true,
        workers: workers.map(({ lastHeardMs, ...worker }) => ({ ...worker, last_heard_ms: lastHeardMs })),
      });
      return EXIT.ok;
    }
    if (workers.length === 0) io.stdout.write('No workers. Start one with: volley worker --join URL\n');
    for (const { name, state, running, capacity, labels, agents, version, host, lastHeardMs } of workers) {
      const own = Object.entries(labels).filter(([label]) => !isReservedLabel(label));
      const tools = Object.keys(labels).filter((label) => labeledTool(label) !== undefined).length;
      const offers =
        state === 'incompatible'
          ? ['gets no work: run the same version of Volley on all machines']
          : [
              `${running} of ${capacity.concurrency} calls`,
              `${capacity.cpu} cpu`,
              `${capacity.memoryMb} MB`,
              countText(tools, 'tool'),
              ...own.map(([label, value]) => `${label}=${value}`),
              ...(agents === undefined ? [] : [agentsText(agents)]),
            ];
      const heard = `heard ${spanText(lastHeardMs)} ago`;
      io.stdout.write(`${name}  ${state}  ${offers.join(', ')}  (${host}, Volley ${version}, ${heard})\n`);
    }
    return EXIT.ok;
  },
});

/** Why workers are missing that somebody has started. */
export function strangersText(names: readonly string[]): string {
  return `Ignored, because their VOLLEY_CLUSTER_KEY differs: ${listText(names.slice(0, 10), names.length)}.`;
}

/** `agents claude, codex in shop` */
function agentsText({ names, repositories }: OfferedAgents): string {
  const clones = repositories.map(({ name }) => name).join(', ') || 'no repository';
  return `agents ${names.join(', ') || 'none'} in ${clones}`;
}
