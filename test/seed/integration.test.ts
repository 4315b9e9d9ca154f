import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  defaultConfig,
  defineTool,
  type ParallelAgentTool,
  ParallelExecutionEngine,
  ParallelToolCoordinator,
} from '../../src/index.ts';
import { builtinTools } from '../../src/tools/builtin/index.ts';
import { gate } from './support.ts';

/** The integration tests of the document that asked for the engine, against the public classes alone. */

describe('parallel tool execution', () => {
  it('executes calls of real tools, and gives their results in order', async () => {
    const { coordinator, folder } = openCoordinator();
    writeFileSync(join(folder, 'test1.txt'), 'first');
    writeFileSync(join(folder, 'test2.txt'), 'second');
    const results = await coordinator.executeParallel([
      { name: 'read_file', arguments: { path: 'test1.txt' } },
      { name: 'list_directory', arguments: { path: '.' } },
      { name: 'read_file', arguments: { path: 'test2.txt' } },
    ]);
    expect(results).toMatchObject([
      { name: 'read_file', status: 'completed', value: { content: 'first' } },
      { name: 'list_directory', status: 'completed' },
      { name: 'read_file', status: 'completed', value: { content: 'second' } },
    ]);
  });

  it('runs calls concurrently', async () => {
    const { coordinator } = openCoordinator();
    const opened = gate();
    let inside = 0;
    const run = async () => {
      if (++inside === 5) opened.open();
      await opened.passed;
    };
    coordinator.register(defineTool({ name: 'meet', run }));
    const results = await coordinator.executeParallel(Array.from({ length: 5 }, () => ({ name: 'meet' })));
    expect(results.map(({ status }) => status)).toEqual(Array(5).fill('completed'));
  });

  it('orders calls by their dependencies, and hands results on', async () => {
    const { coordinator } = openCoordinator();
    coordinator.register(
      defineTool<{ value: number }>({ name: 'double', run: ({ value }) => ({ value: value * 2 }) }),
    );
    const results = await coordinator.executeParallel([
      { id: 'b', name: 'double', arguments: { value: '${a.value}' } },
      { id: 'a', name: 'double', arguments: { value: 10 } },
    ]);
    expect(results).toMatchObject([{ value: { value: 40 } }, { value: { value: 20 } }]);
  });

  it('runs one at a time what contends for the same resource', async () => {
    const { coordinator } = openCoordinator();
    let inside = 0;
    let most = 0;
    const run = async () => {
      most = Math.max(most, ++inside);
      await new Promise((resolve) => setImmediate(resolve));
      inside--;
    };
    coordinator.register(defineTool({ name: 'migrate', resources: { exclusive: ['database'] }, run }));
    const results = await coordinator.executeParallel(Array.from({ length: 5 }, () => ({ name: 'migrate' })));
    expect(results.every(({ status }) => status === 'completed')).toBe(true);
    expect(most).toBe(1);
  });

  it('starts the more urgent calls first', async () => {
    const { coordinator } = openCoordinator({ maxConcurrency: 1 });
    const order: unknown[] = [];
    const run = (input: { name: string }) => void order.push(input.name);
    coordinator.register(defineTool<{ name: string }>({ name: 'work', run }));
    const priorities = ['background', 'low', 'normal', 'high', 'critical'] as const;
    await coordinator.executeParallel(
      priorities.map((priority) => ({ name: 'work', priority, arguments: { name: priority } })),
    );
    expect(order).toEqual([...priorities].reverse());
  });
});

describe('the tool coordinator', () => {
  it('takes tools in the form of the document, and lists them', async () => {
    const { coordinator } = openCoordinator();
    const tool: ParallelAgentTool = {
      name: 'calculate',
      description: 'Computes.',
      resourceRequirements: () => ({ cpu: 0.1, memoryMb: 100, io: 'low' }),
      priority: () => 'normal',
      canRunParallelWith: (other: string) => other !== 'migrate',
      execute: async (input: unknown) => ({ input }),
    };
    coordinator.register(tool);
    expect(coordinator.tools().map(({ name }) => name)).toContain('calculate');
    const [result] = await coordinator.executeParallel([{ name: 'calculate', arguments: { x: 1 } }]);
    expect(result).toMatchObject({ status: 'completed', value: { input: { x: 1 } } });
  });

  it('carries errors through the chain of calls, and leaves the others alone', async () => {
    const { coordinator } = openCoordinator();
    coordinator.register(
      defineTool({ name: 'broken', run: () => Promise.reject(new Error('no space left')) }),
      defineTool({ name: 'work', run: () => 'fine' }),
    );
    const results = await coordinator.executeParallel([
      { id: 'a', name: 'broken' },
      { id: 'b', name: 'work', dependsOn: ['a'] },
      { id: 'c', name: 'work' },
      { id: 'd', name: 'no_such_tool' },
    ]);
    expect(results).toMatchObject([
      { status: 'failed', reason: 'error', error: { message: expect.stringContaining('no space left') } },
      { status: 'skipped', cause: 'a' },
      { status: 'completed', value: 'fine' },
      { status: 'failed', error: { code: 'UNKNOWN_TOOL' } },
    ]);
  });
});

describe('progress streaming', () => {
  it('tells of a tool from its start to its completion', async () => {
    await using engine = new ParallelExecutionEngine();
    const updates: { readonly type: string }[] = [];
    const reading = (async () => {
      for await (const update of engine.progress.subscribe()) {
        updates.push(update);
        if (update.type === 'completed') return;
      }
    })();
    const handle = engine.submit({ toolName: 'long_task', timeoutMs: 5000 }, async ({ report }) => {
      for (const share of [0.25, 0.5, 0.75]) {
        await new Promise((resolve) => setImmediate(resolve));
        report(share);
      }
    });
    await handle.wait();
    await reading;
    expect(updates.map(({ type }) => type)).toEqual([
      'started',
      'progress',
      'progress',
      'progress',
      'completed',
    ]);
  });

  it('shows the overall status while tools run', async () => {
    await using engine = new ParallelExecutionEngine();
    const opened = gate();
    const run = async ({ report }: { report: (share: number) => void }) => {
      report(0.5);
      await opened.passed;
    };
    const handles = [1, 2].map(() => engine.submit({ toolName: 'work' }, run));
    await expect.poll(() => engine.progress.aggregated().running).toBe(2);
    expect(engine.progress.aggregated()).toMatchObject({ total: 2, progress: 0.5 });
    opened.open();
    await Promise.all(handles.map((handle) => handle.wait()));
    expect(engine.progress.aggregated()).toMatchObject({ completed: 2, progress: 1 });
  });
});

function openCoordinator(engine: { readonly maxConcurrency?: number } = {}): {
  coordinator: ParallelToolCoordinator;
  folder: string;
} {
  const folder = mkdtempSync(join(tmpdir(), 'volley-seed-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const config = defaultConfig(folder);
  const coordinator = new ParallelToolCoordinator({
    config: { ...config, engine: { ...config.engine, ...engine } },
  });
  coordinator.register(builtinTools());
  onTestFinished(() => coordinator.close({ cancel: true }));
  return { coordinator, folder };
}
