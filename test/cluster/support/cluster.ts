import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type OwnRedis, startRedis } from '../../../scripts/start-redis.ts';
import { ClusterCoordinator, type ClusterCoordinatorOptions } from '../../../src/cluster/coordinator.ts';
import type { ProtocolTimes } from '../../../src/cluster/protocol/messages.ts';
import type { ClusterSettings } from '../../../src/cluster/registry.ts';
import { ClusterWorker, type ClusterWorkerOptions } from '../../../src/cluster/worker.ts';
import { defaultConfig, type VolleyConfig } from '../../../src/config/config.ts';
import { ParallelToolCoordinator } from '../../../src/coordinator/coordinator.ts';
import type { ToolSet } from '../../../src/tools/builtin/environment.ts';
import type { Tool } from '../../../src/tools/tool.ts';

interface CoordinatorPlace {
  readonly settings: ClusterSettings;
  readonly config: VolleyConfig;
}

interface WorkerPreparation {
  /** Called before the worker joins. */
  readonly prepare?: (tools: ParallelToolCoordinator) => void;
}

/** Faster than in production, but slow enough for a busy machine. */
const TIMES: ProtocolTimes = { beatMs: 200, leaseMs: 6000, forgottenMs: 0, inspectMs: 400 };

/** A Redis server with coordinators and workers in this process. Everything is closed together. */
export class OwnCluster {
  private readonly closers: (() => Promise<unknown>)[] = [];

  private constructor(
    readonly redis: OwnRedis,
    readonly folder: string,
    private readonly prefix: string,
  ) {}

  static async start(): Promise<OwnCluster> {
    const folder = mkdtempSync(join(tmpdir(), 'volley-cluster-'));
    return new OwnCluster(await startRedis(), folder, 'test');
  }

  /** Another cluster on the same server. It has nothing to do with this one. */
  beside(prefix: string): OwnCluster {
    return new OwnCluster(this.redis, this.folder, prefix);
  }

  get settings(): ClusterSettings {
    const artifacts = join(this.folder, 'artifacts');
    const { prefix } = this;
    return { url: this.redis.url, prefix, key: 'a key for tests only', share: 'files', artifacts };
  }

  async worker(
    name: string,
    tools: readonly (Tool | ToolSet)[],
    { prepare, ...rest }: Partial<ClusterWorkerOptions> & WorkerPreparation = {},
  ): Promise<ClusterWorker> {
    const config = rest.config ?? defaultConfig(this.folder);
    const own = new ParallelToolCoordinator({ config });
    own.register(...tools);
    prepare?.(own);
    const worker = await ClusterWorker.join({
      settings: this.settings,
      config,
      tools: own,
      name,
      times: TIMES,
      ...rest,
    });
    this.closers.push(() => worker.close());
    return worker;
  }

  async coordinator(
    tools: readonly (Tool | ToolSet)[],
    options: ClusterCoordinatorOptions = {},
    { settings = this.settings, config = defaultConfig(this.folder) }: Partial<CoordinatorPlace> = {},
  ): Promise<{ cluster: ClusterCoordinator; calls: ParallelToolCoordinator }> {
    const cluster = await ClusterCoordinator.open(settings, { times: TIMES, ...options });
    const calls = new ParallelToolCoordinator({ config });
    calls.register(...tools);
    cluster.attach(calls);
    this.closers.push(async () => {
      await calls.close({ cancel: true });
      await cluster.close();
    });
    return { cluster, calls };
  }

  /** Lets a coordinator of tools use the workers. */
  async coordinate(calls: ParallelToolCoordinator): Promise<ClusterCoordinator> {
    const cluster = await ClusterCoordinator.open(this.settings, { times: TIMES });
    cluster.attach(calls);
    return cluster;
  }

  /** Closes coordinators and workers; the server stays. */
  async reset(): Promise<void> {
    for (const close of this.closers.splice(0).reverse()) await close();
  }

  async stop(): Promise<void> {
    await this.reset();
    await this.redis.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
