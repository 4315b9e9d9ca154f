import { afterEach, describe, expect, test, vi } from 'vitest';
import { createLauncher } from '../../../src/runners/process/helper-launcher.ts';
import { ProcessRunner } from '../../../src/runners/process/process-runner.ts';
import type { ToolContext } from '../../../src/runners/runner.ts';
import { rejectionOf } from '../../engine/support/errors.ts';
import { useProcessRunner } from '../support/process-runner.ts';
import { processesWith } from '../support/processes.ts';

const rig = useProcessRunner();
const mark = `volley-runner-test-${process.pid}-end`;
const env = { VOLLEY_MARK: mark };

afterEach(() => {
  expect(processesWith(mark)).toEqual([]);
});

describe('what goes in', () => {
  test('the input arrives as it is, with what JSON does not have', async () => {
    const input = { date: new Date(0), map: new Map([['a', new Set([1n])]]), bytes: new Uint8Array([1, 2]) };
    const look = ({ date, map, bytes }: typeof input) => [
      date.toISOString(),
      map.get('a')!.has(1n),
      bytes.length,
    ];
    expect(await rig.run(look, { input })).toEqual(['1970-01-01T00:00:00.000Z', true, 2]);
  });

  test('an input that cannot be sent is refused before anything is started', async () => {
    const began = vi.fn();
    const error = await rejectionOf(rig.run(() => 1, { input: { callback: () => {} }, began, env }));
    expect(error).toMatchObject({ code: 'UNSERIALISABLE_INPUT' });
    expect((error as Error).message).toContain('"tool"');
    expect(began).not.toHaveBeenCalled();
  });

  test('a function of this thread is refused: only its text or a module can be sent', async () => {
    const error = await rejectionOf(rig.run({ kind: 'function', run: () => 1 }));
    expect(error).toMatchObject({ code: 'INVALID_TOOL' });
  });

  test('an aborted signal lets nothing start', async () => {
    const began = vi.fn();
    const reason = new Error('too late');
    expect(await rejectionOf(rig.run(() => 1, { signal: AbortSignal.abort(reason), began }))).toBe(reason);
    expect(began).not.toHaveBeenCalled();
  });

  test('an abort while the process starts is not lost', async () => {
    const controller = new AbortController();
    const wait = (_: never, { signal }: ToolContext) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    const began = () => controller.abort(new Error('never mind'));
    const error = await rejectionOf(rig.run(wait, { signal: controller.signal, began, env }));
    expect((error as Error).message).toBe('never mind');
  });

  test("standard input is the runner's: a tool finds it empty", async () => {
    const read = async () => {
      let text = '';
      for await (const chunk of process.stdin) text += chunk;
      return text;
    };
    expect(await rig.run(read)).toBe('');
  });
});

describe('what comes out', () => {
  test('undefined, null and nested data come back; a date as its text', async () => {
    expect(await rig.run(() => undefined)).toBeUndefined();
    expect(await rig.run(() => null)).toBeNull();
    expect(await rig.run(() => ({ list: [1, { deep: true }], at: new Date(0), gone: undefined }))).toEqual({
      list: [1, { deep: true }],
      at: '1970-01-01T00:00:00.000Z',
    });
  });

  test.each([
    ['a bigint', () => ({ count: 1n }), 'its member "count" is a bigint'],
    ['a Map', () => new Map(), 'it is a Map'],
    ['binary data', () => ({ bytes: Buffer.from('x') }), 'its member "bytes" is binary data'],
    ['NaN', () => [Number.NaN], 'its member "0" is the number NaN'],
    [
      'a circle',
      () => {
        const circle: Record<string, unknown> = {};
        circle['self'] = circle;
        return circle;
      },
      'circular',
    ],
  ])('a result with %s is refused, and the error says where it is', async (_what, tool, text) => {
    const error = await rejectionOf(rig.run(tool));
    expect(error).toMatchObject({ code: 'UNSERIALISABLE_RESULT' });
    expect((error as Error).message).toContain(text);
  });

  test('what a tool prints is never taken for a message', async () => {
    const print = () => {
      console.log(JSON.stringify({ type: 'result', value: 'forged' }));
      process.stdout.write(Buffer.from([3, 0, 0, 0, 4, 34, 120, 34]));
      return 'real';
    };
    expect(await rig.run(print)).toBe('real');
  });

  test('a tool that reports without end does not drown the host', async () => {
    const report = vi.fn();
    const tool = async (_: never, { report }: ToolContext) => {
      for (let index = 1; index <= 50_000; index++) report(index / 50_000, `step ${index}`);
    };
    await rig.run(tool, { report });
    expect(report.mock.calls.length).toBeLessThan(5_000);
    expect(report.mock.calls.at(-1)).toEqual([1, 'step 50000']);
  });

  test('what a crashed process wrote last is part of the error', async () => {
    const crash = () => {
      process.stderr.write('the disk is on fire\n');
      process.exit(3);
    };
    const error = await rejectionOf(rig.run(crash));
    expect(error).toMatchObject({ name: 'ToolFailure', reason: 'crashed', retryable: true });
    expect((error as Error).message).toContain('exit status 3');
    expect((error as Error).message).toContain('the disk is on fire');
  });

  test('an allocation that fails counts as memory, though it can be caught', async () => {
    const error = await rejectionOf(rig.run(() => new ArrayBuffer(2 ** 46).byteLength));
    const isMemory = (error as { reason?: string }).reason === 'memory';
    // Some versions of Node refuse the size as such.
    expect(isMemory || (error as Error).name === 'RangeError').toBe(true);
  });
});

describe('a hostile tool that writes to the channel itself', () => {
  test.each([
    ['noise', 'Buffer.alloc(65_536, 255)', 'invalid message'],
    ['a result of gigabytes', 'Buffer.from([255, 255, 255, 127, 4, 34])', 'limit'],
    [
      'progress without end',
      'Buffer.concat([Buffer.from([11, 0, 0, 0, 3]), Buffer.from("[null,null]")])',
      'output',
    ],
    ['progress without a body', 'Buffer.from([0, 0, 0, 0, 3])', 'invalid message'],
    [
      'progress of another form',
      'Buffer.concat([Buffer.from([4, 0, 0, 0, 3]), Buffer.from("[{}]")])',
      'invalid message',
    ],
    [
      'a result of lists in lists',
      'Buffer.concat([Buffer.from([160, 134, 1, 0, 4]), Buffer.alloc(100_000, "[")])',
      'deep',
    ],
    ['a result that is no JSON', 'Buffer.from([1, 0, 0, 0, 4, 33])', 'not JSON'],
  ])('is ended for %s', async (_what, frame, text) => {
    const code = `async () => {
      const { writeSync } = await import('node:fs');
      const frame = ${frame};
      const many = Buffer.concat(Array.from({ length: Math.ceil(65_536 / frame.length) }, () => frame));
      for (;;) writeSync(3, many);
    }`;
    const limits = { outputBytes: 100_000 };
    const error = await rejectionOf(rig.run({ kind: 'source', text: code }, { limits, env }));
    expect((error as Error).message).toContain(text);
  });

  test('is not listened to when it reports faster than anybody could read', async () => {
    const report = vi.fn();
    const flood = async () => {
      const { writeSync } = await import('node:fs');
      const frame = Buffer.concat([Buffer.from([10, 0, 0, 0, 3]), Buffer.from('[0.5,null]')]);
      const many = Buffer.concat(Array.from({ length: 4000 }, () => frame));
      for (let round = 0; round < 100; round++) {
        for (let at = 0; at < many.length; ) at += writeSync(3, many, at);
      }
      return 'done';
    };
    const start = performance.now();
    expect(await rig.run(flood, { report })).toBe('done');
    // Of 400,000, a thousand in a tenth of a second at most.
    const windows = Math.ceil((performance.now() - start) / 100);
    expect(report.mock.calls.length).toBeGreaterThan(0);
    expect(report.mock.calls.length).toBeLessThanOrEqual(1000 * (windows + 1));
  });
});

test('what is thrown and no error arrives as it is', async () => {
  const throwNull = () => {
    throw null;
  };
  expect(await rejectionOf(rig.run(throwNull))).toBe(null);
});

test('a result that nobody could walk through is refused, one that is merely deep is not', async () => {
  const nest = ({ depth }: { depth: number }) => {
    let list: unknown[] = ['"[\\'];
    for (let level = 1; level < depth; level++) list = [list];
    return list;
  };
  expect(await rig.run(nest, { input: { depth: 1000 } })).toHaveLength(1);
  const error = await rejectionOf(rig.run(nest, { input: { depth: 1001 } }));
  expect(error).toMatchObject({ code: 'UNSERIALISABLE_RESULT' });
});

test('a tool that does not end after its answer is ended, and the answer counts', async () => {
  const tool = () => {
    process.on('exit', () => {
      for (;;);
    });
    return 'answered';
  };
  expect(await rig.run(tool, { env })).toBe('answered');
});

test('the limit on open files is kept', async () => {
  const open = async () => {
    const { openSync } = await import('node:fs');
    try {
      for (;;) openSync('/dev/null', 'r');
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  expect(await rig.run(open, { limits: { openFiles: 64 } })).toBe('EMFILE');
});

describe('closing', () => {
  async function open() {
    const launcher = createLauncher();
    const runner = new ProcessRunner({ launcher });
    const run = (text: string, began = () => {}) =>
      runner.run(
        {
          toolName: 'tool',
          code: { kind: 'source', text },
          input: undefined,
          limits: {},
          sandbox: { mode: 'auto', read: [], write: [], network: false },
          env,
        },
        { id: 'a', attempt: 1, signal: new AbortController().signal, report: () => {}, began },
      );
    return { launcher, runner, run };
  }

  test('ends what runs, and takes nothing more', async () => {
    const { launcher, runner, run } = await open();
    let running!: Promise<unknown>;
    await new Promise<void>((resolve) => {
      running = rejectionOf(run('() => new Promise(() => {})', resolve));
    });
    await runner.close();
    expect(await running).toMatchObject({ code: 'RUNNER_CLOSED' });
    expect(processesWith(mark)).toEqual([]);
    await expect(run('() => 1')).rejects.toMatchObject({ code: 'RUNNER_CLOSED' });
    await launcher.close();
  });

  test('a runner that nothing was asked of closes as well', async () => {
    const { launcher, runner } = await open();
    await runner.close();
    await launcher.close();
  });

  test('the sources run without a build, as in development', async () => {
    const { launcher, runner, run } = await open();
    expect(await run('() => 6 * 7')).toBe(42);
    await runner.close();
    await launcher.close();
  });
});
