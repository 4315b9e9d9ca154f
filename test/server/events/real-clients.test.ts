import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EventSource } from 'eventsource';
import { expect, onTestFinished, test } from 'vitest';
import { folderWith } from '../../cli/support/program.ts';
import { openPage, useBrowser } from '../../web/support/browser.ts';
import { localToken, serve } from '../support/serve.ts';
import { openProxy } from './support/cutting-proxy.ts';

useBrowser();

const PATH = '/v1/batches/live/events';

/** What a client was shown: the number of each task that was added, and the names of other events. */
type Shown = () => string[] | Promise<string[]>;

/** `curl -N`, begun again behind the last id that it was shown, as a script does it. */
function curl(url: string, token: string): Shown {
  const shown: string[] = [];
  let isOver = false;
  let lastId: string | undefined;
  let rest = '';
  const takeLine = (line: string) => {
    const [, field, value = ''] = /^(id|event|data): (.*)$/.exec(line) ?? [];
    if (field === 'id') lastId = value;
    else if (field === 'event' && (value === 'snapshot' || value === 'gap')) shown.push(value);
    else if (field === 'data' && value.includes('from_seq')) shown.push(numberIn(value));
  };
  const run = async () => {
    while (!isOver) {
      const resume = lastId === undefined ? [] : ['-H', `Last-Event-ID: ${lastId}`];
      const child = spawn('curl', ['-sN', '-H', `Authorization: Bearer ${token}`, ...resume, url], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      onTestFinished(() => {
        isOver = true;
        child.kill();
      });
      child.stdout.setEncoding('utf8').on('data', (part: string) => {
        const lines = (rest + part).split('\n');
        rest = lines.pop()!;
        lines.forEach(takeLine);
      });
      await once(child, 'close');
      // What was not shown to its end comes again.
      rest = '';
    }
  };
  void run();
  return () => shown;
}

function eventSource(url: string, token: string): Shown {
  const source = new EventSource(url, {
    fetch: (input, init) =>
      fetch(input, { ...init, headers: { ...init?.headers, Authorization: `Bearer ${token}` } }),
  });
  onTestFinished(() => source.close());
  const shown: string[] = [];
  for (const type of ['snapshot', 'gap']) source.addEventListener(type, () => void shown.push(type));
  source.addEventListener('added', ({ data }) => void shown.push(numberIn(data)));
  return () => shown;
}

/** The EventSource of a browser that is signed in by the cookie. */
async function browser(address: string, path: string, key: string): Promise<Shown> {
  const page = await openPage(address);
  await page.evaluate(
    async ([body, url]) => {
      const headers = { 'Content-Type': 'application/json' };
      await fetch('/v1/session', { method: 'POST', headers, body: body! });
      const shown: string[] = [];
      Object.assign(globalThis, { shown });
      const source = new globalThis.EventSource(url!);
      for (const type of ['snapshot', 'gap']) source.addEventListener(type, () => shown.push(type));
      source.addEventListener('added', (event) => {
        const { data } = event as unknown as { data: string };
        shown.push(String(JSON.parse(data).from_seq));
      });
    },
    [JSON.stringify({ key }), path],
  );
  return () => page.evaluate(() => (globalThis as unknown as { shown: string[] }).shown);
}

function numberIn(data: string): string {
  return String((JSON.parse(data) as { from_seq: number }).from_seq);
}

test('curl, the eventsource package and a browser go on without a gap, however often their connection is cut', {
  timeout: 300_000,
}, async () => {
  const webFolder = folderWith();
  writeFileSync(join(webFolder, 'index.html'), '<!doctype html><html lang="en"><title>Volley</title></html>');
  const served = await serve({ webFolder, events: { retryMs: 50 } });
  await served.ask('add', { batch: 'live', function: 'echo' });
  const proxy = await openProxy(served.server.port);
  const url = `${proxy.address}${PATH}`;
  const token = localToken(served.server);
  const clients: Shown[] = [
    curl(url, token),
    eventSource(url, token),
    await browser(proxy.address, PATH, new URL(served.server.pageAddress()).hash.slice('#key='.length)),
  ];
  const told = ['snapshot'];
  const add = async () => {
    await served.ask('add', { batch: 'live', function: 'echo' });
    told.push(String(told.length + 1));
  };
  const allShown = () =>
    expect.poll(() => Promise.all(clients.map((shown) => shown()))).toEqual(clients.map(() => told));
  await allShown();
  for (let round = 0; round < 3; round++) {
    await add();
    await allShown();
    const before = proxy.count();
    proxy.cut();
    await add();
    await add();
    await allShown();
    expect(proxy.count()).toBeGreaterThanOrEqual(before + clients.length);
  }
  const metrics = await (await served.fetch('/metrics')).text();
  expect(metrics).toContain('volley_event_gaps_total 0');
  expect(metrics).toContain(`volley_event_streams_resumed_total ${3 * clients.length}`);
});
