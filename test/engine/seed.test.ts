import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { openEngine } from './support/engine.ts';
import { gate, quiet } from './support/gate.ts';
import { readUpdates, typesOf } from './support/updates.ts';

/** Counts how many functions are inside at the same time. */
class Turnstile {
  most = 0;
  inside = 0;

  async pass(work: () => Promise<void>): Promise<void> {
    this.most = Math.max(this.most, ++this.inside);
    await work();
    this.inside--;
  }
}

/** The tests of the document that asked for the engine; others stand with the core, and the timed one in test/timing. */
describe('the tests of the seed', () => {
  it('streams the progress of a tool from its start to its completion', async () => {
    const engine = openEngine();
    const reading = readUpdates(engine.progress.subscribe(), 'completed');
    const handle = engine.submit({ toolName: 'long_task' }, async ({ report }) => {
      for (const share of [0.25, 0.5, 0.75]) {
        await setTimeout(5);
        report(share);
      }
    });
    await handle.wait();
    expect(typesOf(await reading)).toEqual(['started', 'progress', 'progress', 'progress', 'completed']);
  });

  it('runs 1,000 quick tools, up to 100 at once but never more', async () => {
    const engine = openEngine({ maxConcurrency: 100, limits: { cpu: 4, memoryMb: 8192, ioOperations: 50 } });
    const turnstile = new Turnstile();
    const opened = gate();
    const resources = { cpu: 0.04, memoryMb: 80, io: 'none' } as const;
    const handles = Array.from({ length: 1000 }, (_, index) =>
      engine.submit({ toolName: `tool_${index}`, resources }, () => turnstile.pass(() => opened.passed)),
    );
    // However long it takes until all who may be are inside.
    await expect.poll(() => turnstile.inside).toBe(100);
    await quiet();
    opened.open();
    await Promise.all(handles.map((handle) => handle.wait()));
    expect(engine.statistics().counts.completed).toBe(1000);
    expect(turnstile.most).toBe(100);
  });

  it('runs as many of them as the scarcest resource allows', async () => {
    const engine = openEngine({ maxConcurrency: 100, limits: { cpu: 4, memoryMb: 8192, ioOperations: 50 } });
    const turnstile = new Turnstile();
    const opened = gate();
    const handles = Array.from({ length: 200 }, () =>
      engine.submit({ toolName: 'quick' }, () => turnstile.pass(() => opened.passed)),
    );
    // By default each takes a tenth of a core, of which there are 4.
    await expect.poll(() => turnstile.inside).toBe(40);
    await quiet();
    opened.open();
    await Promise.all(handles.map((handle) => handle.wait()));
    expect(turnstile.most).toBe(40);
  });
});
