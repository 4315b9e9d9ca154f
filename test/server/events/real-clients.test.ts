import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { EventSource } from 'eventsource';
import { expect, onTestFinished, test } from 'vitest';
import { openHub } from './support/open-hub.ts';

interface Reader {
  readonly child: ChildProcess;
  text(): string;
}

function curl(url: string, ...args: string[]): Reader {
  const child = spawn('curl', ['-sN', ...args, url], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill());
  let text = '';
  child.stdout!.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  return { child, text: () => text };
}

const eventually = <T>(look: () => T) => expect.poll(look, { timeout: 20_000 });

test('curl -N shows events as they come, and goes on behind the last id that it was shown', async () => {
  const { hub, port, tell, responses } = await openHub();
  const url = `http://127.0.0.1:${port}/`;
  const first = curl(url);
  await eventually(() => first.text()).toContain('event: snapshot');
  tell('a');
  await eventually(() => first.text()).toContain('"id":"a"');
  responses[0]!.destroy();
  await once(first.child, 'close');
  tell('b');
  const lastId = [...first.text().matchAll(/^id: (.+)$/gm)].at(-1)![1]!;
  const second = curl(url, '-H', `Last-Event-ID: ${lastId}`);
  await eventually(() => second.text()).toContain('"id":"b"');
  tell('c');
  await eventually(() => second.text()).toContain('"id":"c"');
  expect(second.text()).not.toMatch(/event: (gap|snapshot)|"id":"a"/);
  expect(hub.counts()).toMatchObject({ resumed: 1, gaps: 0 });
});

test('the eventsource package goes on by itself without a gap, however often it is cut', async () => {
  const { hub, port, tell, responses } = await openHub({ retryMs: 20 });
  const source = new EventSource(`http://127.0.0.1:${port}/`);
  onTestFinished(() => source.close());
  const seen: string[] = [];
  for (const type of ['snapshot', 'task', 'gap'])
    source.addEventListener(type, ({ data }) => {
      seen.push(type === 'task' ? (JSON.parse(data) as { id: string }).id : type);
    });
  await eventually(() => seen).toEqual(['snapshot']);
  const told: string[] = [];
  for (let round = 1; round <= 4; round++) {
    for (const part of ['a', 'b', 'c']) {
      told.push(`${part}${round}`);
      tell(told.at(-1)!);
    }
    await eventually(() => seen.at(-1)).toBe(told.at(-1));
    const { opened } = hub.counts();
    responses.at(-1)!.destroy();
    told.push(`cut${round}`);
    tell(told.at(-1)!);
    await eventually(() => hub.counts().opened).toBe(opened + 1);
  }
  await eventually(() => seen).toEqual(['snapshot', ...told]);
  expect(hub.counts()).toMatchObject({ resumed: 4, gaps: 0 });
});
