import { tmpdir } from 'node:os';
import { Confinement, createLauncher, shellTool } from '../../dist/internals.js';

import type { ShellSettings } from '../../src/tools/builtin/environment.ts';

import { warmUp } from '../harness/warm-up.ts';
import { engineWith } from '../work/engine.ts';
import type { ProcessContestant } from './contestant.ts';

const WARM_UP = 50;

const launcher = createLauncher();
const confinement = new Confinement(launcher);
const shell: ShellSettings = {
  enabled: true,
  shell: ['/bin/sh', '-c'],
  env: [],
  limits: { memoryMb: 1024, cpuMs: 60_000, openFiles: 1024, outputBytes: 1_000_000 },
  sandbox: { mode: 'off', read: [], write: [], network: true },
  launcher: () => launcher,
  confinement: () => confinement,
};
const tool = shellTool({
  roots: [tmpdir()],
  files: { maxBytes: 0, maxEntries: 0 },
  http: { enabled: false, allowPrivate: false, allowHosts: [], maxBytes: 0, maxRedirects: 0, timeoutMs: 0 },
  shell,
});
const CONTEXT = {
  toolName: tool.name,
  resources: { cpu: 1, memoryMb: 200, io: 'medium', network: true },
  timeoutMs: 60_000,
  retry: { maxRetries: 3 },
} as const;

/** The `shell` tool on the engine: arguments checked, output captured, limits set, the group killed at the end. */
export const contestant: ProcessContestant = {
  name: 'volley shell',
  async prepare({ concurrency }) {
    launcher.prepare();
    await warmUp(() => this.run({ count: WARM_UP, concurrency }));
  },
  async run({ count, concurrency }) {
    const engine = engineWith(concurrency);
    const calls = Array.from({ length: count }, () =>
      engine
        .submit(CONTEXT, async (task) => {
          const input = await tool.input.check({ command: '/bin/true' });
          if (!input.ok) throw new Error('The input is not valid.');
          return tool.run!(input.value, {
            id: task.id,
            attempt: task.attempt,
            signal: task.signal,
            report: task.report,
            log: () => {},
          });
        })
        .wait(),
    );
    const results = await Promise.all(calls);
    if (results.some(({ exit_code }) => exit_code !== 0)) throw new Error('A command failed.');
  },
  close: () => launcher.close(),
};
