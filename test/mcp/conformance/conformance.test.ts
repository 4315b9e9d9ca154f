import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { defineTool } from '../../../src/tools/define-tool.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { serve } from '../../server/support/serve.ts';
import { isDeep } from '../../support/depth.ts';
import { BASELINE, runSuite } from './support/run-suite.ts';
import { standInFor, WATCHED } from './support/stand-in.ts';

/** Each scenario in the revision that it has by default, and all that there is in others: the newest, and older ones. */
const ALL_ROUNDS = [
  ['--suite', 'all'],
  ['--suite', 'all', '--spec-version', '2026-07-28'],
  ['--suite', 'all', '--spec-version', '2025-06-18'],
];
const ROUNDS = isDeep ? ALL_ROUNDS : ALL_ROUNDS.slice(0, 1);

const compute = defineTool<{ seconds: number; fails?: boolean }>({
  name: 'calculate',
  run: async ({ seconds, fails }, { signal }) => {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, seconds * 1000);
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    });
    if (fails === true) throw new Error('it failed');
    return { seconds };
  },
}) as Tool;

test('the official suite finds nothing amiss but what is listed', { timeout: 480_000 }, async () => {
  const { address, ask } = await serve({ tools: [compute] });
  await ask('add_batch', { batch: WATCHED, tasks: [{ function: 'echo', params: {} }] });
  await ask('start', { batch: WATCHED, wait: true });
  const url = await standInFor(address);
  const ends = await Promise.all(ROUNDS.map((round) => runSuite(url, round)));
  for (const [place, round] of ROUNDS.entries()) {
    let { status, output } = ends[place]!;
    // Half a second is all that it gives some answers, and a busy machine may need more: it gets it one by one.
    for (let tries = 1; status !== 0 && tries <= 3; tries++) {
      const again = await runSuite(url, round);
      ({ status } = again);
      output += `\n\nAgain:\n${again.output}`;
    }
    expect(status, output).toBe(0);
  }
});

test('everything that is listed has its reason in the documentation', () => {
  const { server } = parse(readFileSync(BASELINE, 'utf8')) as { server: string[] };
  const page = readFileSync(new URL('../../../docs/mcp-conformance.md', import.meta.url), 'utf8');
  const named = new Set([...page.matchAll(/`([a-z\d-]+)`/g)].map(([, name]) => name));
  const scenarios = new Set(server.map((entry) => entry.split(':')[0]!));
  expect([...scenarios].filter((scenario) => !named.has(scenario))).toEqual([]);
});
