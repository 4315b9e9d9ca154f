import { describe, expect, it } from 'vitest';
import { PlainDisplay } from '../../../src/cli/display/plain-display.ts';
import type { DisplayedBatch } from '../../../src/cli/display/view.ts';
import { FakeTiming } from '../../support/fake-timing.ts';
import { runningTask, viewWith } from './support/views.ts';

function setUp() {
  const timing = new FakeTiming(1_000_000);
  const lines: string[] = [];
  const current: { view: DisplayedBatch; note?: string } = { view: viewWith() };
  const stream = { write: (text: string) => lines.push(text) };
  const display = new PlainDisplay({ stream, timing, view: () => current.view, note: () => current.note });
  return { timing, lines, current, display };
}

describe('the plain display', () => {
  it('says now and then how far it is, only if that changed, and each failure once', () => {
    const { timing, lines, current, display } = setUp();
    const counts = { open: 376, running: 4, completed: 617, failed: 3 };
    current.view = viewWith({
      counts,
      progress: 0.62,
      ratePerSecond: 0.5,
      timeLeft: { lowMs: 90_000, highMs: 200_000 },
    });
    for (let second = 0; second < 60; second++) {
      display.changed();
      timing.advance(1000);
    }
    display.failed({
      name: 'b\x1b[2J.py',
      function: 'tool',
      reason: 'memory',
      message: 'too\nmuch',
      attempts: 2,
    });
    display.completed({ name: 'a.py', function: 'tool', durationMs: 1234 });
    expect(lines).toEqual([
      'audit: running 380 tasks\n',
      'audit: 62%, 617 of 1,000 completed, 3 failed, 4 running, 30/min, 1 min 30 s to 3 min 30 s left\n',
      '✗ b.py (tool): memory: too much, after 2 attempts\n',
      '✓ a.py (tool) 1.2 s\n',
    ]);
  });

  it('reports often at first and less often later', () => {
    const { timing, lines, current, display } = setUp();
    const times: number[] = [];
    for (let second = 0; second <= 40; second++) {
      current.view = viewWith({ counts: { open: 100 - second, completed: second } });
      display.changed();
      if (lines.length > 0) times.push(...lines.map(() => second));
      lines.length = 0;
      timing.advance(1000);
    }
    expect(times).toEqual([0, 1, 3, 8, 18, 28, 38]);
  });

  it('says nothing at the start of a batch that has ended', () => {
    const { lines, current, display } = setUp();
    current.view = viewWith({ counts: { completed: 4 } });
    display.changed();
    expect(lines).toEqual([]);
  });

  it('says how far each group is', () => {
    const { timing, lines, current, display } = setUp();
    const group = runningTask('read', 0, { isGroup: true, step: '11 of 50, 2 failed' });
    current.view = viewWith({
      counts: { open: 1, running: 3 },
      progress: 0,
      running: [group, runningTask('read[4]', 0, { group: 'read' }), runningTask('b', 0)],
    });
    display.changed();
    timing.advance(10_000);
    expect(lines.slice(1)).toEqual(['audit: 0%, 0 of 4 completed, 2 running\n  read: 11 of 50, 2 failed\n']);
  });

  it('says at once what the user has to know, and once', () => {
    const { lines, current, display } = setUp();
    display.changed();
    current.note = 'Stopping.';
    display.changed();
    display.changed();
    expect(lines).toEqual(['Stopping.\n']);
  });

  it('is silent once it is closed', () => {
    const { timing, lines, display } = setUp();
    display.changed();
    display.close();
    lines.length = 0;
    display.changed();
    display.completed({ name: 'too late', function: 'tool', durationMs: 1 });
    timing.advance(60_000);
    expect(lines).toEqual([]);
    expect(timing.pending).toBe(0);
  });
});
