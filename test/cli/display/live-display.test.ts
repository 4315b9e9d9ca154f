import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDisplay } from '../../../src/cli/display/create-display.ts';
import { LiveDisplay } from '../../../src/cli/display/live-display.ts';
import type { DisplayedBatch } from '../../../src/cli/display/view.ts';
import { createColors } from '../../../src/cli/output/colors.ts';
import { FakeTiming } from '../../support/fake-timing.ts';
import { FakeTerminal } from './support/fake-terminal.ts';
import { runningTask, viewWith } from './support/views.ts';

function setUp(terminal = new FakeTerminal(60, 12)) {
  const timing = new FakeTiming(1_000_000);
  const current = { view: viewWith({ counts: { open: 10 }, progress: 0 }) };
  let looks = 0;
  const display = new LiveDisplay({
    stream: terminal,
    timing,
    colors: createColors(false),
    view: () => {
      looks++;
      return current.view;
    },
  });
  // Files share a process, and it listens to the signals of that.
  onTestFinished(() => display.close());
  const show = (view: DisplayedBatch) => {
    current.view = view;
    display.changed();
    timing.advance(100);
  };
  return { terminal, timing, display, show, looks: () => looks };
}

const failure = (name: string) => ({
  name,
  function: 'tool',
  reason: 'error',
  message: 'it broke',
  attempts: 1,
});

describe('the live display', () => {
  it('draws over itself and keeps the lines of failures above', () => {
    const { terminal, display, show } = setUp();
    show(viewWith({ counts: { open: 9, completed: 1 }, progress: 0.1 }));
    display.failed(failure('first'));
    show(viewWith({ counts: { open: 8, completed: 1, failed: 1 }, progress: 0.1 }));
    display.failed({ ...failure('second'), reason: 'timeout', message: 'x'.repeat(90), attempts: 3 });
    show(viewWith({ counts: { open: 7, completed: 1, failed: 2 }, progress: 0.1 }));
    expect(terminal.text.split('\n')).toEqual([
      '✗ first (tool): it broke',
      `✗ second (tool): timeout: ${'x'.repeat(34)}`,
      `${'x'.repeat(56)}, af`,
      'ter 3 attempts',
      `audit  ${'━'.repeat(14)}${'─'.repeat(33)}  10%`,
      '1 of 10 · 2 failed',
    ]);
  });

  it('draws at most ten times a second, with one write, and only what changed', () => {
    const { terminal, timing, display, show, looks } = setUp();
    show(viewWith({ counts: { open: 10 }, progress: 0 }));
    const before = terminal.writes.length;
    for (let ms = 0; ms < 1000; ms++) {
      display.changed();
      timing.advance(1);
    }
    expect(looks()).toBeLessThanOrEqual(12);
    expect(terminal.writes.length).toBe(before);
    show(viewWith({ counts: { open: 9, completed: 1 }, progress: 0 }));
    expect(terminal.writes.slice(before)).toEqual(['\r\x1b[2A\n1 of 10\x1b[K\n']);
  });

  it('lets the times of what runs go on by themselves', () => {
    const { terminal, timing, show } = setUp();
    show(viewWith({ counts: { running: 1 }, running: [runningTask('slow', timing.now())] }));
    expect(terminal.text).toMatch(/^ {3}0 s {2}slow/m);
    timing.advance(61_000);
    expect(terminal.text).toMatch(/1 min 1 s {2}slow/);
  });

  it('takes the picture away at the end, shows the cursor again and leaves nothing behind', () => {
    const listeners = () =>
      ['exit', 'SIGINT', 'SIGTERM', 'SIGHUP', 'SIGTSTP', 'SIGCONT'].map((one) => process.listenerCount(one));
    const before = listeners();
    const { terminal, timing, display, show } = setUp();
    show(viewWith({ counts: { running: 1 }, running: [runningTask('slow', timing.now())] }));
    expect(terminal.isCursorHidden).toBe(true);
    display.failed(failure('last'));
    display.close();
    display.close();
    display.changed();
    expect(terminal.text).toBe('✗ last (tool): it broke');
    expect(terminal.isCursorHidden).toBe(false);
    expect(timing.pending).toBe(0);
    expect(listeners()).toEqual(before);
    expect(terminal.eventNames()).toEqual([]);
  });

  it('finds its place again when the terminal becomes narrower, wider, or very low', () => {
    const { terminal, timing, show, display } = setUp(new FakeTerminal(80, 24));
    const running = Array.from({ length: 8 }, (_, index) => runningTask(`task ${index}`, timing.now()));
    show(viewWith({ counts: { running: 8 }, running }));
    // The fake does not wrap again what it shows, so that the cursor goes up further than needed; never off the screen.
    for (const [columns, rows] of [
      [120, 24],
      [200, 30],
      [119, 24],
    ] as const) {
      terminal.resize(columns, rows);
      timing.advance(100);
      expect(terminal.text.split('\n').filter((line) => line.startsWith('audit'))).toHaveLength(1);
    }
    terminal.resize(20, 3);
    timing.advance(100);
    expect(terminal.writes.at(-1)).toContain('\r\x1b[2A');
    display.close();
  });

  it.skipIf(process.platform === 'win32')(
    'asks for the size anew when it comes back from the background',
    async () => {
      const { display } = setUp();
      const asked = once(process, 'SIGWINCH');
      process.kill(process.pid, 'SIGCONT');
      await asked;
      display.close();
    },
  );

  it('bounds how many lines scroll by at once and says how many it left out', () => {
    const { terminal, timing, display } = setUp();
    for (let index = 0; index < 5000; index++) display.failed(failure(`task ${index}`));
    timing.advance(100);
    expect(terminal.text.split('\n').filter((line) => line.startsWith('✗'))).toHaveLength(20);
    expect(terminal.text).toContain('… and 4,980 more at once');
  });

  it('waits with the next picture while the terminal takes nothing', () => {
    const { terminal, timing, display, show } = setUp();
    terminal.writableNeedDrain = true;
    show(viewWith({ counts: { open: 1 } }));
    display.failed(failure('kept'));
    timing.advance(5000);
    expect(terminal.writes).toEqual([]);
    terminal.writableNeedDrain = false;
    timing.advance(100);
    expect(terminal.text).toContain('kept');
  });

  it('goes on in silence when the terminal is gone', () => {
    const { terminal, display, show } = setUp();
    show(viewWith({ counts: { open: 1 } }));
    const before = terminal.writes.length;
    terminal.emit('error', new Error('EIO'));
    show(viewWith({ counts: { open: 2 } }));
    display.close();
    expect(terminal.writes.length).toBe(before);
  });
});

describe('the choice of a display', () => {
  it('draws only on a terminal that can, and not in CI', () => {
    const isLive = (stream: { isTTY?: boolean }, env: Record<string, string>) => {
      const terminal = Object.assign(new FakeTerminal(), stream);
      const display = createDisplay({ stream: terminal, env, view: () => viewWith() });
      display.close();
      return display instanceof LiveDisplay;
    };
    expect(isLive({}, {})).toBe(true);
    expect(isLive({ isTTY: false }, {})).toBe(false);
    expect(isLive({}, { TERM: 'dumb' })).toBe(false);
    expect(isLive({}, { CI: 'true' })).toBe(false);
    expect(isLive({}, { CI: 'false', NO_COLOR: '1' })).toBe(true);
  });
});
