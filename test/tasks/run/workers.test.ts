import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { BatchExecutor } from '../../../src/batch/executor/batch-executor.ts';
import type { ClusterWorker } from '../../../src/cluster/worker.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { createCoordinator } from '../../../src/coordinator/coordinator.ts';
import type { ToolRun } from '../../../src/runners/runner.ts';
import { openStore } from '../../../src/store/sqlite-store.ts';
import { TaskFolder } from '../../../src/tasks/files/task-folder.ts';
import { AgentHost } from '../../../src/tasks/run/agent-host.ts';
import { runFeature } from '../../../src/tasks/run/feature-run.ts';
import type { RunRequest } from '../../../src/tasks/run/run-request.ts';
import { withCode } from '../../../src/tools/define-tool.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { OwnCluster } from '../../cluster/support/cluster.ts';
import { startBuilt } from '../../e2e/support/built-volley.ts';
import { isAlive } from '../../support/alive.ts';
import { trustFolder } from '../../support/trust.ts';
import { until } from '../../support/until.ts';
import { git } from '../workspace/support.ts';
import { FeatureProject } from './feature-project.ts';
import { commitAll } from './runner.ts';

let cluster: OwnCluster;
beforeAll(async () => {
  cluster = await OwnCluster.start();
});
afterEach(() => cluster.reset());
afterAll(() => cluster.stop());

/** Changes what the host of a worker does, as a hostile one would. */
type Twist = (tool: Tool) => Tool;

/** A clone of the project, as another machine has it. */
function cloneOf({ folder }: FeatureProject): string {
  const clone = mkdtempSync(join(tmpdir(), 'volley-clone-'));
  onTestFinished(() => rmSync(clone, { recursive: true, force: true, maxRetries: 5 }));
  git(folder, 'clone', '-q', folder, clone);
  return clone;
}

/** A worker that runs agents in a clone. */
async function agentWorker(
  name: string,
  clone: string,
  { slots = 1, twist = (tool) => tool }: { readonly slots?: number; readonly twist?: Twist } = {},
): Promise<ClusterWorker> {
  const { config } = await loadConfig({ cwd: clone, env: {}, trusted: true });
  const host = await AgentHost.open({
    config,
    env: process.env,
    redact: (text) => text,
    notify: () => undefined,
  });
  onTestFinished(() => host.close());
  const worker = await cluster.worker(name, [], {
    config,
    agents: { offer: host.offer, slots },
    prepare: (tools) => tools.registerInternal(twist(host.tool)),
  });
  return worker;
}

/** A run of the feature on the workers of the cluster. */
async function remoteRunner({ folder }: FeatureProject) {
  const { config } = await loadConfig({ cwd: folder, env: {}, trusted: true });
  const store = await openStore(join(folder, '.volley/volley.db'));
  const coordinator = await createCoordinator(config);
  const link = await cluster.coordinate(coordinator);
  const executor = new BatchExecutor({ coordinator, store });
  onTestFinished(async () => {
    await executor.close({ graceMs: 0 });
    await coordinator.close({ cancel: true });
    await link.close();
    await store.close();
  });
  const setting = {
    folder: new TaskFolder(folder),
    config,
    executor,
    store,
    coordinator: async () => coordinator,
    env: process.env,
  };
  const run = (request: Partial<RunRequest> = {}) =>
    runFeature(setting, { feature: 'auth', workers: true, ...request });
  return { run, executor, link };
}

/** What is left of attempts in a clone. */
function leftIn(clone: string): string[] {
  const asks = join(clone, '.volley/asks');
  const files = existsSync(asks) ? readdirSync(asks).filter((name) => name !== '.gitignore') : [];
  const branches = git(clone, 'for-each-ref', '--format=%(refname)', 'refs/heads/volley', 'refs/volley');
  return [...files, ...branches.split('\n').filter(Boolean)];
}

describe('agents on workers', { timeout: 180_000 }, () => {
  it('work at once on two machines, each in its own clone', async () => {
    const project = new FeatureProject({
      '01': { deliverables: ['a'], behaviour: { meet: 2 } },
      '02': { deliverables: ['b'], behaviour: { meet: 2, mark: true } },
      '03': { deliverables: ['c'], depends_on: ['01', '02'] },
    });
    commitAll(project);
    const clones = [cloneOf(project), cloneOf(project)];
    await agentWorker('left', clones[0]!);
    await agentWorker('right', clones[1]!);
    const { run } = await remoteRunner(project);
    const report = await run();
    expect(report.subtasks.map(({ status, error }) => [status, error])).toEqual(
      ['01', '02', '03'].map(() => ['completed', null]),
    );
    // A call that was taken back before it began has an attempt of its own.
    const [first, second] = report.subtasks.map(({ attempt_reports }) => attempt_reports.at(-1)!);
    expect([first!.worker, second!.worker].sort()).toEqual(['left', 'right']);
    for (const path of ['a', 'b', 'c']) expect(project.has(path), path).toBe(true);
    for (const { cwd } of project.notes('start')) expect(cwd).toMatch(/volley-clone-/);
    for (const clone of clones) expect(leftIn(clone)).toEqual([]);
    expect(git(project.folder, 'for-each-ref', 'refs/heads/volley', 'refs/volley')).toBe('');
    const transcript = project.read(first!.transcript!);
    expect(transcript).toContain(`"worker":"${first!.worker}"`);
    expect(transcript).toContain('Wrote a');
  });

  it('repair work that conflicts with what another machine did meanwhile', async () => {
    const write = (text: string) => `echo ${text} > shared.txt`;
    const gate = (project: string) => join(project, '.volley', 'written');
    const project = new FeatureProject({});
    const go = gate(project.folder);
    const conflicting = new FeatureProject(
      {
        '01': {
          deliverables: ['one'],
          behaviour: { kind: 'script', script: `${write('1')}; touch one ${go}` },
        },
        '02': {
          deliverables: ['two'],
          behaviour: {
            kind: 'script',
            // Only the attempt that found the other's work in its files says so.
            script: `while [ ! -e ${go} ]; do sleep 0.05; done; if grep -q '<<<<' shared.txt; then ${write('both')}; else ${write('2')}; fi; touch two`,
          },
        },
      },
      { settings: 'max_concurrent = 2' },
    );
    conflicting.put('shared.txt', '0\n');
    commitAll(conflicting);
    await agentWorker('left', cloneOf(conflicting));
    await agentWorker('right', cloneOf(conflicting));
    const { run } = await remoteRunner(conflicting);
    const report = await run();
    expect(report.subtasks.map(({ status }) => status)).toEqual(['completed', 'completed']);
    const [first, second] = [1, 2].map((part) => report.subtasks[part - 1]!.attempt_reports.length);
    expect(first! + second!).toBe(3);
    expect(conflicting.read('shared.txt')).not.toContain('<<<<');
  });

  it('stop with their run, and leave nothing on the worker', async () => {
    const project = new FeatureProject({ '01': { deliverables: ['a'], behaviour: { kind: 'hang' } } });
    commitAll(project);
    const clone = cloneOf(project);
    await agentWorker('left', clone);
    const { run, executor } = await remoteRunner(project);
    const running = run();
    await until(() => project.notes('child').length === 1, 'the agent has a child');
    expect(leftIn(clone)).not.toEqual([]);
    expect(await executor.handle({ action: 'cancel', batch: 'feature-auth', all: true })).toMatchObject({
      ok: true,
    });
    const report = await running;
    expect(report.subtasks[0]).toMatchObject({ status: 'left' });
    expect(project.subtask('01')).toMatchObject({ status: 'pending' });
    const { child, pid } = project.notes('child')[0]!;
    expect([child!, pid].filter(isAlive)).toEqual([]);
    expect(leftIn(clone)).toEqual([]);
  });

  it('wait for a worker that has the agent and a clone, and explain says what is missing', async () => {
    const project = new FeatureProject({ '01': { deliverables: ['a'] } });
    commitAll(project);
    const stranger = new FeatureProject({});
    commitAll(stranger);
    git(stranger.folder, 'commit', '-q', '--allow-empty', '-m', 'another history');
    await agentWorker('stranger', stranger.folder);
    const { run, executor } = await remoteRunner(project);
    const running = run();
    const says = async (text: string) => {
      const deadline = Date.now() + 60_000;
      for (;;) {
        // Until the batch has been added, there is nothing to explain.
        const why = (await executor.explain('feature-auth', '01').catch(String)) ?? '';
        if (why.includes(text)) return;
        if (Date.now() > deadline) throw new Error(`explain says: ${why}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    await says('no worker that runs agents has a clone of the repository');
    const clone = cloneOf(project);
    const table = project.read('volley.toml').replaceAll('coder', 'writer');
    writeFileSync(join(clone, 'volley.toml'), table);
    const without = await agentWorker('without', clone);
    await says('no worker has all that it needs (the agent coder, a clone of the repository)');
    await without.close();
    await agentWorker('right', cloneOf(project));
    const report = await running;
    expect(report.subtasks[0]).toMatchObject({ status: 'completed' });
    expect(report.subtasks[0]!.attempt_reports).toMatchObject([{ worker: 'right' }]);
  });

  it('of a worker that lies change nothing here', async () => {
    const hook = '"$(git rev-parse --git-common-dir)/hooks/post-checkout"';
    const script = `echo 'touch owned' > ${hook}; chmod +x ${hook}; echo work > f04`;
    const project = new FeatureProject({
      ...Object.fromEntries(['01', '02', '03'].map((seq) => [seq, { deliverables: [`f${seq}`] }])),
      // This worker is honest, but its agent is not.
      '04': { deliverables: ['f04'], behaviour: { kind: 'script', script } },
    });
    commitAll(project);
    const before = git(project.folder, 'for-each-ref');
    const lies = [
      // Something else than a report.
      async () => ({ commit: 'main; rm -rf /', log: 7 }),
      // A commit that is not in the bundle.
      async (_: string, value: object) => ({ ...value, commit: 'f'.repeat(40) }),
      // Success without work.
      async (_: string, { commit: __, ...rest }: { commit?: string }) => rest,
      async (_: string, value: object) => value,
    ];
    const twist: Twist = (tool) =>
      withCode(tool, {
        kind: 'function',
        run: async (input, context) => {
          const { run } = tool.code as { run: ToolRun };
          const value = (await run(input, context)) as { commit?: string };
          return lies[Number((input as { seq: string }).seq) - 1]!(context.folder!, value);
        },
      });
    const clone = cloneOf(project);
    await agentWorker('liar', clone, { twist });
    const { run } = await remoteRunner(project);
    const report = await run();
    expect(report.subtasks.map(({ status }) => status)).toEqual(['failed', 'failed', 'failed', 'failed']);
    expect(report.subtasks.map(({ error }) => error?.slice(0, 60))).toMatchObject([
      expect.stringContaining('returned something else than a report'),
      expect.stringContaining('cannot be used'),
      expect.stringContaining('the work is missing'),
      expect.stringContaining('changed protected files of git'),
    ]);
    expect(existsSync(join(clone, '.git/hooks/post-checkout'))).toBe(false);
    for (const seq of ['01', '02', '03', '04']) expect(project.has(`f${seq}`)).toBe(false);
    expect(git(project.folder, 'log', '--format=%s')).toBe('first');
    const refs = git(project.folder, 'for-each-ref').split('\n');
    expect(refs.filter((ref) => !before.includes(ref) && !ref.includes('refs/heads/volley/'))).toEqual([]);
  });

  it('continue elsewhere when their worker is lost, and it cleans up when it comes back', async () => {
    const project = new FeatureProject({});
    const go = join(project.folder, '.volley', 'go');
    // The key of the cluster is none of an agent's business.
    const script = `while [ ! -e ${go} ]; do sleep 0.05; done; [ -z "$VOLLEY_CLUSTER_KEY" ] && echo work > a`;
    const { settings } = cluster;
    const table = `[cluster]\nprefix = "${settings.prefix}"\nartifacts = "${settings.artifacts}"`;
    const held = new FeatureProject(
      { '01': { deliverables: ['a'], behaviour: { kind: 'script', script } } },
      { settings: table },
    );
    commitAll(held);
    const clones = [cloneOf(held), cloneOf(held)];
    const start = async (name: string, clone: string) => {
      const args = ['worker', '--join', settings.url, '--name', name, '--agents', '1', '--json'];
      const home = mkdtempSync(join(tmpdir(), 'volley-home-'));
      const env = { VOLLEY_CLUSTER_KEY: settings.key, HOME: home, XDG_CONFIG_HOME: '' };
      await trustFolder(clone, env);
      const child = startBuilt(clone, args, { env });
      child.stdout!.resume();
      child.stderr!.resume();
      onTestFinished(async () => {
        if (child.exitCode === null && child.signalCode === null) {
          child.kill('SIGKILL');
          await once(child, 'close');
        }
        rmSync(home, { recursive: true, force: true });
      });
      return child;
    };
    const first = await start('first', clones[0]!);
    const { run } = await remoteRunner(held);
    const running = run();
    await until(() => held.notes('start').length === 1, 'the agent works');
    const { pid } = held.notes('start')[0]!;
    first.kill('SIGKILL');
    await once(first, 'close');
    await until(() => !isAlive(pid), 'the agent ends with its worker');
    expect(leftIn(clones[0]!)).not.toEqual([]);
    await start('second', clones[1]!);
    await until(() => held.notes('start').length === 2, 'another agent works');
    writeFileSync(go, '');
    const report = await running;
    expect(report.subtasks[0]).toMatchObject({ status: 'completed' });
    expect(report.subtasks[0]!.attempt_reports.map(({ worker }) => worker)).toEqual(['first', 'second']);
    const again = await start('again', clones[0]!);
    await until(() => leftIn(clones[0]!).length === 0, 'it has cleaned up');
    again.kill('SIGTERM');
  });
});
