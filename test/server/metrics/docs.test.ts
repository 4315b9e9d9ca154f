import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { ServerMetrics } from '../../../src/server/metrics/server-metrics.ts';
import { openRig } from '../../batch/support/rig.ts';

const DOCS = new URL('../../../docs/', import.meta.url);
const PART_OF_HISTOGRAM = /_(bucket|sum|count)$/;

async function knownMetrics(): Promise<Set<string>> {
  const { coordinator, store } = await openRig();
  const counts = { events: 0, subscribers: 0, opened: 0, resumed: 0, gaps: 0, stalled: 0, lag: 0 };
  const metrics = new ServerMetrics({
    engine: coordinator.engine,
    store,
    events: { counts: () => counts },
    workers: { list: () => [], drain: async () => false },
  });
  onTestFinished(() => metrics.close());
  const { body } = await metrics.text();
  return new Set([...body.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!));
}

function namesIn(text: string): Set<string> {
  const found = text.match(/\b(volley|process|nodejs)_[a-z_]+\b/g) ?? [];
  return new Set(found.map((name) => name.replace(PART_OF_HISTOGRAM, '')));
}

test('each metric of the Grafana dashboard exists', async () => {
  const dashboard = JSON.parse(readFileSync(new URL('grafana-volley.json', DOCS), 'utf8')) as {
    panels: { id: number; title: string; targets: { expr: string }[] }[];
  };
  const known = await knownMetrics();
  const expressions = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const named = namesIn(expressions.join('\n'));
  expect([...named].filter((name) => !known.has(name))).toEqual([]);
  expect(named.size).toBeGreaterThan(10);
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
});

test('each metric is described, and each that is described exists', async () => {
  const text = readFileSync(new URL('observability.md', DOCS), 'utf8');
  expect([...namesIn(text)].sort()).toEqual([...(await knownMetrics())].sort());
});
