import { rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { Worker as Thread } from 'node:worker_threads';
import type { VolleyConfig } from '../config/config.ts';
import { packageVersion } from '../config/package-version.ts';
import type { CallResult } from '../coordinator/call.ts';
import type { ParallelToolCoordinator } from '../coordinator/coordinator.ts';
import { AGENTS_RESOURCE, type OfferedAgents } from '../coordinator/remote-runner.ts';
import { VolleyError } from '../core/errors.ts';
import {
  agentLabel,
  type Labels,
  repositoryLabel,
  SHARE_LABEL,
  toolLabel,
  WORKER_LABEL,
} from '../core/labels.ts';
import type { WorkerSpec } from '../core/placement.ts';
import { reasonText } from '../core/words.ts';
import { limitHit } from '../engine/tool-failure.ts';
import type { ProgressUpdate } from '../engine/updates.ts';
import { scriptEntry } from '../runners/entry.ts';
import { makeTemporaryFolder } from '../runners/process/confinement.ts';
import { fromWireError, type WireError } from '../runners/wire-error.ts';
import { type ArtifactStore, openArtifactStore } from './artifact-store.ts';
import { Artifacts } from './artifacts.ts';
import { packOutputs, unpackInputs } from './files.ts';
import { DEFAULT_TIMES, type ProtocolTimes } from './protocol/messages.ts';
import { ClusterRegistry, type ClusterSettings } from './registry.ts';
import { toolHash } from './tool-hash.ts';
import type { Assignment, RemoteOutcome, RemoteProgress, WorkerOffer } from './work.ts';
import type { FinishedCall, StartedCall, WorkerLinkOptions } from './worker-link.ts';

/** What the thread of the link reports. */
export type LinkMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'failed'; readonly error: WireError }
  | { readonly type: 'start'; readonly calls: readonly StartedCall[] }
  | { readonly type: 'stop'; readonly key: string }
  | { readonly type: 'recall'; readonly key: string }
  | { readonly type: 'note'; readonly text: string }
  | { readonly type: 'gone' };

/** What the thread of the link is asked. */
export type LinkRequest =
  | { readonly type: 'finished'; readonly calls: readonly FinishedCall[] }
  | { readonly type: 'progress'; readonly key: string; readonly progress: RemoteProgress }
  /** The attempts that have waited for room for some time. */
  | { readonly type: 'waiting'; readonly keys: readonly string[] }
  | { readonly type: 'drain' }
  | { readonly type: 'close' };

export interface ClusterWorkerOptions {
  readonly settings: ClusterSettings;
  readonly config: VolleyConfig;
  /** Runs the calls. It is closed with the worker. */
  readonly tools: ParallelToolCoordinator;
  readonly name: string;
  readonly labels?: Labels;
  /** What it offers, if that is less than the limits of its configuration. */
  readonly capacity?: WorkerSpec['capacity'];
  /** The coding agents that it runs, and how many at once. The tool that runs them is registered. */
  readonly agents?: { readonly offer: OfferedAgents; readonly slots: number };
  readonly times?: ProtocolTimes;
  readonly notify?: (text: string) => void;
}

interface RunningCall {
  readonly controller: AbortController;
  /** When it began to wait for room: after its arguments and files have arrived. */
  acceptedAt: number;
  /** 0 until there is room for it. */
  begunAt: number;
}

/** An attempt that waited longer for room says when it begins, because its time limits count from there. */
const NOTED_WAIT_MS = 20;

const ENTRY = scriptEntry('./worker-thread', import.meta.url);

/**
 * A worker of a cluster. Its tools, allow list, trust, sandbox and limits are those of its own configuration, whatever the
 * coordinator wants.
 */
export class ClusterWorker {
  private readonly running = new Map<string, RunningCall>();
  private readonly timer: NodeJS.Timeout;
  private isAnyWaiting = false;
  /** The attempt of each group of the engine. */
  private readonly keys = new Map<string, string>();
  /** Outcomes that go to the other thread together. */
  private finished: FinishedCall[] = [];
  private readonly unlisten: () => void;
  private readonly artifacts: Artifacts;
  /** A connection for artifacts, made when the first one comes through the server. */
  private connected: Promise<ClusterRegistry> | undefined;
  /** Resolves when the worker has left the cluster. */
  readonly gone: Promise<void>;
  private leave: () => void = () => {};
  private readonly ended: Promise<unknown>;

  private constructor(
    private readonly thread: Thread,
    private readonly options: ClusterWorkerOptions,
    store: ArtifactStore | undefined,
  ) {
    this.artifacts = new Artifacts(store, async () => {
      this.connected ??= ClusterRegistry.connect(options.settings);
      return (await this.connected).artifacts;
    });
    this.unlisten = options.tools.engine.progress.listen((update) => this.progressed(update));
    const { beatMs } = options.times ?? DEFAULT_TIMES;
    this.timer = setInterval(() => this.tellWaiting(beatMs), beatMs / 2);
    this.ended = new Promise((resolve) => thread.once('exit', resolve));
    this.gone = new Promise((resolve) => {
      this.leave = resolve;
    });
  }

  /** Joins the cluster. */
  static async join(options: ClusterWorkerOptions): Promise<ClusterWorker> {
    const { settings, name, tools, times } = options;
    const store = await openArtifactStore(settings).catch(async (error: unknown) => {
      await tools.close({ cancel: true });
      throw error;
    });
    const offer = offerOf(options);
    const workerData: WorkerLinkOptions = { settings, name, offer, ...(times !== undefined && { times }) };
    const thread = new Thread(ENTRY.url, { workerData, execArgv: [...ENTRY.execArgv] });
    const worker = new ClusterWorker(thread, options, store);
    // The coordinator pauses for all workers.
    tools.engine.ignoreQuotas();
    try {
      await worker.ready();
    } catch (error) {
      await thread.terminate();
      worker.unlisten();
      clearInterval(worker.timer);
      await tools.close({ cancel: true });
      throw error;
    }
    return worker;
  }

  /** Takes no more work, finishes what runs, and leaves. */
  async drain(): Promise<void> {
    this.send({ type: 'drain' });
    await this.gone;
    await this.close();
  }

  /** Leaves at once. Running calls are cancelled. */
  async close(): Promise<void> {
    this.send({ type: 'close' });
    await this.ended;
    this.unlisten();
    clearInterval(this.timer);
    await this.options.tools.close({ cancel: true });
    (await this.connected?.catch(() => undefined))?.close();
  }

  private ready(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.thread.on('error', reject);
      this.thread.on('exit', () => {
        reject(new VolleyError('INTERNAL', 'The thread of the worker has ended.'));
        this.leave();
      });
      this.thread.on('message', (message: LinkMessage) => {
        switch (message.type) {
          case 'ready':
            resolve();
            return;
          case 'failed':
            reject(fromWireError(message.error));
            return;
          case 'start':
            for (const call of message.calls) void this.run(call);
            return;
          case 'stop':
            this.running.get(message.key)?.controller.abort();
            return;
          case 'recall':
            this.recall(message.key);
            return;
          case 'note':
            this.options.notify?.(message.text);
            return;
          case 'gone':
            this.leave();
        }
      });
    });
  }

  private async run({ key, assignment }: StartedCall): Promise<void> {
    const call: RunningCall = {
      controller: new AbortController(),
      acceptedAt: Number.POSITIVE_INFINITY,
      begunAt: 0,
    };
    this.running.set(key, call);
    const outcome = await this.withFiles(call, assignment.files, (folder) =>
      this.outcomeOf(key, assignment, call, folder),
    ).catch((error: unknown): RemoteOutcome => {
      if (!call.controller.signal.aborted) return failed(error);
      return { status: call.begunAt === 0 ? 'returned' : 'cancelled' };
    });
    this.running.delete(key);
    const durationMs = call.begunAt === 0 ? 0 : performance.now() - call.begunAt;
    const isFirst = this.finished.push({ key, outcome: { ...outcome, durationMs } }) === 1;
    // The last one has nobody to wait for.
    if (this.running.size === 0) this.flush();
    else if (isFirst) setImmediate(() => this.flush());
  }

  /** Runs a call whose files were sent in a private folder, and sends back what it wrote there. */
  private async withFiles(
    call: RunningCall,
    files: Assignment['files'],
    run: (folder: string | undefined) => Promise<RemoteOutcome>,
  ): Promise<RemoteOutcome> {
    if (files === undefined) return run(undefined);
    const { controller } = call;
    const folder = await makeTemporaryFolder();
    try {
      await unpackInputs(folder, await this.artifacts.receive(files.inputs, controller), files.outputs);
      const outcome = await run(folder);
      if (outcome.status !== 'completed' || files.outputs.length === 0) return outcome;
      const outputs = await packOutputs(folder, files.outputs, controller.signal);
      return { ...outcome, files: await this.artifacts.ship(outputs, controller) };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  private flush(): void {
    if (this.finished.length === 0) return;
    this.send({ type: 'finished', calls: this.finished });
    this.finished = [];
  }

  private progressed(update: ProgressUpdate): void {
    const { type, group = '' } = update;
    if (type !== 'started' && type !== 'progress' && type !== 'step') return;
    const key = this.keys.get(group);
    const call = key === undefined ? undefined : this.running.get(key);
    if (key === undefined || call === undefined) return;
    if (type !== 'started') {
      const progress = type === 'progress' ? update.progress : undefined;
      this.send({ type: 'progress', key, progress: { progress, step: update.step } });
      return;
    }
    call.begunAt = performance.now();
    if (call.begunAt - call.acceptedAt > NOTED_WAIT_MS)
      this.send({
        type: 'progress',
        key,
        progress: { progress: undefined, step: undefined, hasBegun: true },
      });
  }

  /** An attempt that has not begun is given back. */
  private recall(key: string): void {
    const call = this.running.get(key);
    if (call?.begunAt === 0) call.controller.abort();
  }

  private tellWaiting(afterMs: number): void {
    const before = performance.now() - afterMs;
    const keys: string[] = [];
    for (const [key, { begunAt, acceptedAt }] of this.running)
      if (begunAt === 0 && acceptedAt < before) keys.push(key);
    if (keys.length === 0 && !this.isAnyWaiting) return;
    this.isAnyWaiting = keys.length > 0;
    this.send({ type: 'waiting', keys });
  }

  private async outcomeOf(
    key: string,
    { toolName, input, needs, logs }: Assignment,
    running: RunningCall,
    folder: string | undefined,
  ): Promise<RemoteOutcome> {
    const { controller } = running;
    const arguments_ = JSON.parse(await this.artifacts.receiveText(input, controller));
    running.acceptedAt = performance.now();
    const call = {
      id: 'call',
      name: toolName,
      arguments: arguments_,
      resources: needs,
      // The coordinator limits and repeats attempts.
      timeoutMs: Number.POSITIVE_INFINITY,
      retry: { maxRetries: 0 },
    };
    let group = '';
    const onGroup = (name: string) => {
      group = name;
      this.keys.set(name, key);
    };
    try {
      const [result] = await this.options.tools.executeParallel([call], {
        signal: controller.signal,
        onGroup,
        ...(folder !== undefined && { folder }),
        ...(logs === true && {
          onLog: (log: string) =>
            this.send({ type: 'progress', key, progress: { progress: undefined, step: undefined, log } }),
        }),
      });
      return await this.toOutcome(result!, controller);
    } finally {
      this.keys.delete(group);
    }
  }

  private async toOutcome(result: CallResult, controller: AbortController): Promise<RemoteOutcome> {
    switch (result.status) {
      case 'completed': {
        const text = JSON.stringify(result.value);
        return {
          status: 'completed',
          value: text === undefined ? undefined : await this.artifacts.ship(text, controller),
        };
      }
      case 'failed': {
        const { name, message, code, outage } = result.error;
        const error = { name, message, ...(code !== undefined && { code }) };
        const limit = limitHit(result.error.limit, Date.now());
        const why = { ...(limit !== undefined && { limit }), ...(outage !== undefined && { outage }) };
        return { status: 'failed', reason: result.reason, retryable: name !== 'VolleyError', error, ...why };
      }
      default:
        return { status: result.attempts === 0 ? 'returned' : 'cancelled' };
    }
  }

  private send(request: LinkRequest): void {
    this.thread.postMessage(request);
  }
}

/** A call that could not be run or whose result could not be sent. */
function failed(error: unknown): RemoteOutcome {
  const code = error instanceof VolleyError ? error.code : undefined;
  const name = error instanceof Error ? error.name : 'Error';
  const message = reasonText(error);
  return {
    status: 'failed',
    reason: 'error',
    retryable: code === 'CLUSTER_ARTIFACTS_UNREACHABLE',
    error: { name, message, ...(code !== undefined && { code }) },
  };
}

function offerOf({
  settings,
  tools,
  config,
  name,
  labels = {},
  capacity = {},
  agents,
}: ClusterWorkerOptions): WorkerOffer {
  const { maxConcurrency, limits, resources } = config.limits;
  const offered = tools.portableTools().map((tool) => [toolLabel(tool.name), toolHash(tool)]);
  const own = agents === undefined ? resources : { ...resources, [AGENTS_RESOURCE]: agents.slots };
  const { names = [], repositories = [] } = agents?.offer ?? {};
  return {
    capacity: { ...limits, concurrency: maxConcurrency, resources: own, ...capacity },
    labels: {
      ...labels,
      [WORKER_LABEL]: name,
      [SHARE_LABEL]: settings.share,
      ...Object.fromEntries(offered),
      ...Object.fromEntries(names.map((agent) => [agentLabel(agent), true])),
      ...Object.fromEntries(repositories.map(({ id }) => [repositoryLabel(id), true])),
    },
    ...(agents !== undefined && { agents: agents.offer }),
    version: packageVersion(),
    host: hostname(),
    pid: process.pid,
  };
}
