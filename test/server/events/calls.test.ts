import { expect, onTestFinished, test } from 'vitest';
import { EVENTS } from '../../../src/server/wire/event.ts';
import { defineTool } from '../../../src/tools/define-tool.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { HeldCalls } from '../../batch/support/rig.ts';
import { type Served, serve } from '../support/serve.ts';

interface Received {
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: each kind has its own data
  readonly data: any;
}

/** Reads an answer as SSE; what has come is in the list. */
function readEvents(answer: Response): { readonly events: Received[]; readonly ended: Promise<void> } {
  expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/);
  const events: Received[] = [];
  const read = async () => {
    let rest = '';
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + chunk).split('\n\n');
      rest = blocks.pop()!;
      for (const block of blocks) {
        const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s)));
        if (fields['event'] !== undefined)
          events.push({ type: fields['event'], data: JSON.parse(fields['data']!) });
      }
    }
  };
  return { events, ended: read().catch(() => undefined) };
}

/** The stream of everything, from its snapshot on. */
async function followAll({ fetch }: Served): Promise<Received[]> {
  const cut = new AbortController();
  onTestFinished(() => cut.abort());
  const { events } = readEvents(await fetch('/v1/events', { signal: cut.signal }));
  await expect.poll(() => events).toHaveLength(1);
  return events;
}

/** `a started`, `a progress 0.5 half way`, `result a`, `end`. */
function lines(events: readonly Received[]): string[] {
  return events.map(({ type, data }) => {
    if (type !== 'call') return type === 'result' ? `result ${data.id}` : type;
    EVENTS.call.parse(data);
    return [data.id, data.type, data.progress, data.step, data.reason, data.cause]
      .filter((part) => part !== undefined)
      .join(' ');
  });
}

/** Reports, fails the first time, and takes as long as the test wants. */
function reporting(held: HeldCalls): Tool[] {
  let failures = 1;
  return [
    held.tool(),
    defineTool({
      name: 'reporting',
      retry: { maxRetries: 1, delayMs: 1 },
      run: (_, { report }) => {
        report(0.5, 'half way');
        if (failures-- > 0) throw new Error('text-of-error');
        report('nearly there');
        return 'text-of-result';
      },
    }) as Tool,
  ];
}

test('what happens to the calls of a coordinator in the same process is in the stream of everything', async () => {
  const served = await serve({ tools: reporting(new HeldCalls()) });
  const events = await followAll(served);
  const results = await served.coordinator.executeParallel([
    { id: 'a', name: 'reporting', arguments: { secret: 'text-of-argument' } },
    { id: 'b', name: 'broken', arguments: {}, dependsOn: ['a'], retry: { maxRetries: 0 } },
    { id: 'c', name: 'echo', arguments: {}, dependsOn: ['b'] },
  ]);
  expect(results.map(({ status }) => status)).toEqual(['completed', 'failed', 'skipped']);
  await expect.poll(() => lines(events)).toContain('c skipped b');
  expect(lines(events)).toEqual([
    'snapshot',
    'a started',
    'a progress 0.5 half way',
    'a retrying error',
    'a started',
    'a progress 0.5 half way',
    'a completed',
    'b started',
    'b failed error',
    'c skipped b',
  ]);
  expect(new Set(events.slice(1).map(({ data }) => data.group)).size).toBe(1);
  expect(JSON.stringify(events)).not.toContain('text-of');
});

test('a stream of /v1/execute reports each call while it runs, and its result after its end', async () => {
  const held = new HeldCalls();
  const served = await serve({ tools: reporting(held), events: { progressMs: 20 } });
  const all = await followAll(served);
  const answer = await served.fetch('/v1/execute', {
    method: 'POST',
    headers: { accept: 'text/event-stream', 'content-type': 'application/json' },
    body: JSON.stringify({
      calls: [
        { id: 'a', name: 'held', arguments: { key: 'k' } },
        { id: 'b', name: 'reporting', depends_on: ['a'] },
        { id: 'unknown', name: 'nothing_of_that_name' },
      ],
    }),
  });
  const { events, ended } = readEvents(answer);
  // Nothing has a result yet but what was refused.
  await expect.poll(() => lines(events)).toContain('a started');
  expect(lines(events)).not.toContain('result a');
  held.finish('k');
  await ended;
  const own = (id: string) => lines(events).filter((line) => line.split(' ').includes(id));
  expect(own('a')).toEqual(['a started', 'a completed', 'result a']);
  expect(own('b')).toEqual([
    'b started',
    'b progress 0.5 half way',
    'b retrying error',
    'b started',
    'b progress 0.5 half way',
    'b completed',
    'result b',
  ]);
  expect(own('unknown')).toEqual(['unknown failed error', 'result unknown']);
  expect(lines(events).at(-1)).toBe('end');
  await expect.poll(() => lines(all)).toContain('b completed');
  expect(lines(all).slice(1)).toEqual(lines(events).filter((line) => !/^(result|end)/.test(line)));
});

test('steps and progress of a call are reported together, the latest of each', async () => {
  const steps = defineTool({
    name: 'steps',
    run: async (_, { report }) => {
      report('first step');
      report(0.25);
      report('second step');
      await over;
    },
  }) as Tool;
  let end = () => {};
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  const served = await serve({ tools: [steps], events: { progressMs: 20 } });
  const events = await followAll(served);
  const done = served.coordinator.executeSingle({ id: 'a', name: 'steps', arguments: {} });
  await expect.poll(() => lines(events)).toContain('a progress 0.25 second step');
  end();
  await done;
  await expect.poll(() => lines(events)).toContain('a completed');
  expect(lines(events).slice(1, 4)).toEqual([
    'a started',
    'a progress first step',
    'a progress 0.25 second step',
  ]);
});
