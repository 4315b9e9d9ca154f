import { describe, expect, it } from 'vitest';
import { defineTool } from '../../../src/tools/define-tool.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { gate } from '../../engine/support/gate.ts';
import { openRig } from '../support/rig.ts';

const work = (run: () => unknown) => defineTool({ name: 'work', run }) as Tool;
const tasks = ['a', 'b'].map((id) => ({ id, function: 'work', params: {} }));

describe('a run in a new process', () => {
  it('knows how long functions took in earlier ones', async () => {
    const first = await openRig([work(() => 'done')]);
    await first.ask('add_batch', { tasks });
    await first.ask('start');
    await first.ask('wait');

    const open = gate();
    const next = await openRig([work(() => open.passed)], undefined, first.file);
    await next.ask('add_batch', { tasks, batch: 'next' });
    await next.ask('start', { batch: 'next' });
    expect(next.coordinator.engine.timeLeft()).toBeDefined();
    open.open();
    await next.ask('wait', { batch: 'next' });
  });
});
