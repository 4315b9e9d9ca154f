import { hostname } from 'node:os';
import { InvalidArgumentError } from 'commander';
import type { VolleyConfig } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import { VolleyError } from '../../core/errors.ts';
import { isReservedLabel, type Labels } from '../../core/labels.ts';
import { nearest } from '../../core/nearest.ts';
import { show } from '../../core/numbers.ts';
import { listText } from '../../core/words.ts';
import type { AgentHost } from '../../tasks/run/agent-host.ts';
import { EXIT, type ExitStatus, type Io } from '../output/io.ts';
import { noteTrust, writeNote } from '../output/messages.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';
import { numberOption } from '../program/options.ts';
import { onStopSignals } from '../program/stop-signals.ts';
import { clusterSettings } from '../session/cluster.ts';
import { CAPACITIES } from '../session/plan-workers.ts';

interface WorkerOptions extends CommonOptions {
  readonly join?: string;
  readonly name?: string;
  readonly labels?: Labels;
  readonly capacity?: Readonly<Record<string, number>>;
  readonly agents?: number;
}

export const JOIN_OPTION = [
  '--join <url>',
  'the Redis server of the cluster (default: cluster.url in volley.toml)',
] as const;

export const workerCommand = defineCommand<WorkerOptions>({
  examples: [
    'volley worker --join redis://queue.example:6379',
    'volley worker --name build-1 --labels gpu=true,zone=a --capacity cpu=4,memory_mb=8000',
    'volley worker drain build-1',
  ],
  declare: (program) =>
    program
      .argument('[action]', '"drain": ask a worker to finish its calls and leave')
      .argument('[name]', 'the worker to drain')
      .option(...JOIN_OPTION)
      .option('--name <name>', 'the name of this worker (default: host name and process id)')
      .option('--labels <list>', 'its labels, such as gpu=true,zone=a', labelsOption)
      .option(
        '--capacity <list>',
        'the capacity it offers, if less than its limits, such as cpu=4',
        capacityOption,
      )
      .option(
        '--agents <number>',
        'how many coding agents it runs at once for volley tasks run (default: cluster.agents in volley.toml)',
        numberOption,
      ),
  run: async ([action, name], options, io) => {
    if (action === 'drain') return drain(name, options, io);
    if (action !== undefined)
      throw new VolleyError('INVALID_VALUE', `Unknown action ${show(action)} of volley worker: use drain.`);
    return work(options, io);
  },
});

async function work(options: WorkerOptions, io: Io): Promise<ExitStatus> {
  const { config: file, join, labels, capacity, json = false } = options;
  if (options.agents !== undefined && !(Number.isInteger(options.agents) && options.agents >= 0))
    throw new VolleyError('INVALID_VALUE', '--agents must be a whole number, and 0 runs none.');
  const { config } = await loadConfig({ cwd: io.cwd, env: io.env, ...(file !== undefined && { file }) });
  const settings = clusterSettings(config, join, io);
  await noteTrust(config, options, io);
  const name = checkedName(
    options.name ??
      `${hostname()
        .replace(/[^\w-]/g, '-')
        .slice(0, 40)}-${process.pid}`,
  );
  const slots = options.agents ?? config.cluster.agents;
  const { ClusterWorker } = await import('../../cluster/worker.ts');
  const { createCoordinator } = await import('../../coordinator/coordinator.ts');
  const tools = await createCoordinator(config);
  const notify = (text: string) => writeNote(text, io);
  const host = slots === 0 ? undefined : await openAgentHost(config, tools, io, notify);
  const worker = await ClusterWorker.join({
    settings,
    config,
    tools,
    name,
    ...(host !== undefined && { agents: { offer: host.offer, slots } }),
    ...(labels !== undefined && { labels }),
    ...(capacity !== undefined && { capacity }),
    notify,
  }).catch(async (error: unknown) => {
    await host?.close();
    throw error;
  });
  if (json) io.stdout.writeJson({ ok: true, name, pid: process.pid });
  else io.stdout.write(`Worker ${name} has joined. Press Ctrl-C to finish its calls and leave.\n`);
  io.outliveReader();
  const ignoreSignals = onStopSignals((request) => {
    if (request === 'now') {
      void worker.close();
      return;
    }
    if (!json) io.stdout.write('Finishing its calls, then leaving. Press Ctrl-C again to leave at once.\n');
    void worker.drain();
  });
  await worker.gone;
  ignoreSignals();
  await worker.close();
  await host?.close();
  if (!json) io.stdout.write(`Worker ${name} has left.\n`);
  return EXIT.ok;
}

/** Makes the agents and clones of this machine available to runs elsewhere. */
async function openAgentHost(
  config: VolleyConfig,
  tools: ParallelToolCoordinator,
  io: Io,
  notify: (text: string) => void,
): Promise<AgentHost> {
  const { AgentHost } = await import('../../tasks/run/agent-host.ts');
  const host = await AgentHost.open({
    ...{ config, env: io.env, notify },
    redact: (text) => tools.redactor.text(text),
  });
  tools.registerInternal(host.tool);
  return host;
}

async function drain(name: string | undefined, options: WorkerOptions, io: Io): Promise<ExitStatus> {
  if (name === undefined)
    throw new VolleyError('INVALID_VALUE', 'Name the worker: volley worker drain NAME.');
  const { config: file, join, json = false } = options;
  const { config } = await loadConfig({ cwd: io.cwd, env: io.env, ...(file !== undefined && { file }) });
  const settings = clusterSettings(config, join, io);
  const { listWorkers, drainWorker } = await import('../../cluster/list-workers.ts');
  const names = (await listWorkers(settings)).workers.map((worker) => worker.name);
  if (!names.includes(name)) {
    const close = nearest(name, names);
    throw new VolleyError(
      'CLUSTER_UNKNOWN_WORKER',
      `No worker is named ${show(name)}.${close === undefined ? ` ${presentText(names)}` : ` Did you mean ${close}?`}`,
      { name },
    );
  }
  await drainWorker(settings, name);
  if (json) io.stdout.writeJson({ ok: true, name });
  else io.stdout.write(`Worker ${name} will finish its calls and leave.\n`);
  return EXIT.ok;
}

function presentText(names: readonly string[]): string {
  return names.length === 0
    ? 'There are no workers.'
    : `There are ${listText(names.slice(0, 10), names.length)}.`;
}

function checkedName(name: string): string {
  if (/^[\w-]{1,64}$/.test(name)) return name;
  throw new VolleyError(
    'INVALID_VALUE',
    `The name of a worker must be 1 to 64 letters, digits, "_" or "-", but it is ${show(name)}.`,
  );
}

function pairsOf(text: string): [string, string][] {
  return text.split(',').map((pair) => {
    const [, name, value] = /^([^=]+)=(.+)$/.exec(pair.trim()) ?? [];
    if (name === undefined || value === undefined)
      throw new InvalidArgumentError('Must be names and values such as gpu=true,zone=a.');
    return [name, value];
  });
}

function labelsOption(text: string): Labels {
  return Object.fromEntries(
    pairsOf(text).map(([name, value]) => {
      if (isReservedLabel(name)) throw new InvalidArgumentError(`The label ${name} is set by Volley.`);
      if (value === 'true' || value === 'false') return [name, value === 'true'];
      return [name, /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value];
    }),
  );
}

function capacityOption(text: string): Record<string, number> {
  return Object.fromEntries(
    pairsOf(text).map(([key, value]) => {
      const name = CAPACITIES.get(key);
      if (name === undefined)
        throw new InvalidArgumentError(`Unknown capacity ${key}: use ${[...CAPACITIES.keys()].join(', ')}.`);
      const amount = Number(value);
      if (!(amount > 0)) throw new InvalidArgumentError(`${key} must be a positive number.`);
      return [name, amount];
    }),
  );
}
