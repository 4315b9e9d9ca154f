import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defineTool } from '../../src/tools/define-tool.ts';
import { openTestCoordinator, summary } from './support.ts';

describe('the coordinator', () => {
  it('runs tools in threads and processes as well as here, with progress and the same results', async () => {
    const { coordinator } = openTestCoordinator();
    for (const isolation of ['inline', 'thread', 'process'] as const) {
      coordinator.register(
        defineTool<{ index: number }>({
          name: `square_${isolation}`,
          isolation,
          run: ({ index }, { report }) => {
            report(0.5, 'half');
            return { square: index * index };
          },
        }),
      );
    }
    const updates = coordinator.engine.progress.subscribe({ after: 0 });
    const names = ['square_inline', 'square_thread', 'square_process'];
    const results = await coordinator.executeParallel(
      names.map((name) => ({ id: name, name, arguments: { index: 7 } })),
    );
    expect(results.map(summary)).toEqual(names.map((name) => `${name}: completed {"square":49}`));
    await coordinator.close();
    const steps: string[] = [];
    for await (const update of updates) if (update.type === 'progress') steps.push(update.toolName);
    expect(steps.sort()).toEqual([...names].sort());
  });

  it('ends an endless loop in a thread and in a process, and goes on', async () => {
    const { coordinator } = openTestCoordinator();
    for (const isolation of ['thread', 'process'] as const) {
      coordinator.register(
        defineTool<{ index: number }>({
          name: `loop_${isolation}`,
          isolation,
          run: ({ index }) => {
            while (index === 0);
            return index;
          },
        }),
      );
    }
    const results = await coordinator.executeParallel([
      { id: 'a', name: 'loop_thread', arguments: { index: 0 }, timeoutMs: 300 },
      { id: 'b', name: 'loop_process', arguments: { index: 0 }, timeoutMs: 1500 },
      { id: 'c', name: 'loop_thread', arguments: { index: 1 } },
      { id: 'd', name: 'loop_process', arguments: { index: 2 } },
    ]);
    expect(
      results.map((result) => [result.id, result.status, 'reason' in result ? result.reason : '']),
    ).toEqual([
      ['a', 'failed', 'timeout'],
      ['b', 'failed', 'timeout'],
      ['c', 'completed', ''],
      ['d', 'completed', ''],
    ]);
    // A result comes when the time is up; the room is free when the attempt is really gone.
    await coordinator.engine.drain();
    expect(coordinator.engine.statistics().utilization.concurrency.used).toBe(0);
  });

  it('never lets two writes of one file overlap, nor a read and a write, whatever the path looks like', async () => {
    const { coordinator, folder } = openTestCoordinator();
    writeFileSync(join(folder, 'a.txt'), 'start');
    const text = (letter: string) => letter.repeat(200_000);
    const results = await coordinator.executeParallel([
      { id: 'w1', name: 'write_file', arguments: { path: 'a.txt', content: text('x') } },
      { id: 'r1', name: 'read_file', arguments: { path: './a.txt' } },
      { id: 'w2', name: 'write_file', arguments: { path: join(folder, 'a.txt'), content: text('y') } },
      { id: 'r2', name: 'read_file', arguments: { path: 'b/../a.txt' } },
    ]);
    const contents = ['start', text('x'), text('y')];
    for (const result of results) {
      if (result.status !== 'completed' || !result.id.startsWith('r')) continue;
      expect(contents).toContain((result.value as { content: string }).content);
    }
    expect(contents.slice(1)).toContain(readFileSync(join(folder, 'a.txt'), 'utf8'));
    const held = coordinator.engine.allocationHistory().filter(({ toolName }) => toolName.endsWith('_file'));
    for (const [index, write] of held.entries()) {
      if (write.toolName !== 'write_file') continue;
      for (const [other, allocation] of held.entries()) {
        if (other === index) continue;
        const overlaps = allocation.from < write.until && write.from < allocation.until;
        expect(overlaps).toBe(false);
      }
    }
  });

  it('keeps shell and http_request off until they are enabled', async () => {
    const { coordinator } = openTestCoordinator();
    const results = await coordinator.executeParallel([
      { id: 'a', name: 'shell', arguments: { command: 'true' } },
      { id: 'b', name: 'http_request', arguments: { url: 'https://example.com' } },
    ]);
    expect(results.map(summary)).toEqual([
      'a: failed error: TOOL_NOT_ALLOWED',
      'b: failed error: TOOL_NOT_ALLOWED',
    ]);
    const { coordinator: open } = openTestCoordinator((config) => ({
      ...config,
      shell: { ...config.shell, enabled: true },
    }));
    const result = await open.executeSingle({ name: 'shell', arguments: { command: 'echo hello' } });
    expect(result).toMatchObject({ status: 'completed', value: { exit_code: 0, stdout: 'hello\n' } });
  });
});
