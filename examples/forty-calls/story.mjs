/**
 * The story: an agent finds out how cities keep cool in summer. For each of twelve subjects it searches, fetches a
 * page and extracts notes; notes are merged into three chapters, and the chapters into a report. The tools only take
 * time, as real ones would; everything else is the engine's real work.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { ToolFailure } from 'volley';

export const TITLE = 'an agent finds out how cities keep cool · 40 calls, 8 at once';

/** The tools, in the order of the work, with what is special about each. */
export const TOOLS = [
  { name: 'search', colour: 'cyan', rule: 'at most 4 starts a second' },
  { name: 'fetch', colour: 'blue', rule: 'tried again, 1.9 s at most' },
  { name: 'extract', colour: 'magenta', rule: 'one at a time: locks "notes"' },
  { name: 'merge', colour: 'yellow', rule: 'does without what failed' },
  { name: 'report', colour: 'green', rule: 'critical: its path goes first' },
];

export const ENGINE_OPTIONS = {
  maxConcurrency: 8,
  limits: { cpu: 4, memoryMb: 4096, networkOperations: 6 },
  tools: { search: { rate: { count: 4, perMs: 1000 } } },
  seed: 3,
};

const FETCH_TIMEOUT_MS = 1900;

/** What goes wrong, in the order of the attempts of a fetch. */
const unavailable = { afterMs: 500, say: () => new ToolFailure('503 Service Unavailable') };
const reset = { afterMs: 400, say: () => new ToolFailure('connection reset') };
const silence = { afterMs: 60_000, say: () => new ToolFailure('the server never answered') };
const notFound = {
  afterMs: 350,
  say: () => new ToolFailure('404 Not Found, no use in trying again', { retryable: false }),
};

const CHAPTERS = {
  plants: [
    { name: 'street trees', searchMs: 380, fetchMs: 1250, kb: 48 },
    { name: 'pocket parks', searchMs: 290, fetchMs: 1600, kb: 61, faults: [unavailable] },
    { name: 'green roofs', searchMs: 430, fetchMs: 980, kb: 35 },
    { name: 'facade plants', searchMs: 340, fetchMs: 1420, kb: 52 },
  ],
  buildings: [
    { name: 'white roofs', searchMs: 310, fetchMs: 1150, kb: 44 },
    { name: 'shaded courts', searchMs: 400, fetchMs: 1300, kb: 57, faults: [notFound] },
    { name: 'night cooling', searchMs: 360, fetchMs: 900, kb: 29, faults: [silence] },
    { name: 'district cooling', searchMs: 280, fetchMs: 1700, kb: 73 },
  ],
  streets: [
    { name: 'cool pavements', searchMs: 420, fetchMs: 1050, kb: 40 },
    { name: 'water squares', searchMs: 330, fetchMs: 1350, kb: 55, faults: [reset] },
    { name: 'wind corridors', searchMs: 390, fetchMs: 1500, kb: 66 },
    { name: 'heat plans', searchMs: 300, fetchMs: 1200, kb: 46 },
  ],
};

/** The forty calls as a group for `submitAll`. */
export function calls() {
  const chapters = Object.entries(CHAPTERS);
  const subjects = chapters.flatMap(([, members]) => members);
  return [
    ...subjects.map(search),
    ...subjects.map(fetchPage),
    ...subjects.map(extract),
    ...chapters.map(([name, members]) => merge(name, members)),
    report(chapters.map(([name]) => name)),
  ];
}

function search({ name, searchMs }) {
  return {
    id: `search ${name}`,
    toolName: 'search',
    estimatedMs: 350,
    resources: { network: true },
    run: (task) => take(searchMs, task, () => 'reading hits'),
  };
}

function fetchPage({ name, fetchMs, kb, faults = [] }) {
  return {
    id: `fetch ${name}`,
    toolName: 'fetch',
    dependsOn: [`search ${name}`],
    estimatedMs: 1300,
    resources: { network: true, memoryMb: 200 },
    retry: { maxRetries: 2, delayMs: 300 },
    timeoutMs: FETCH_TIMEOUT_MS,
    run: async (task) => {
      const fault = faults[task.attempt - 1];
      const read = (share) => `${Math.round(share * kb)} of ${kb} kB`;
      if (fault === undefined) return take(fetchMs, task, read);
      task.report('connecting');
      await pause(fault.afterMs, undefined, { signal: task.signal });
      throw fault.say();
    },
  };
}

function extract({ name, kb }) {
  return {
    id: `extract ${name}`,
    toolName: 'extract',
    dependsOn: [`fetch ${name}`],
    estimatedMs: 250,
    resources: { cpu: 1, exclusive: ['notes'] },
    run: (task) => take(170 + kb, task, () => 'writing notes'),
  };
}

function merge(chapter, members) {
  return {
    id: `merge ${chapter}`,
    toolName: 'merge',
    dependsOn: members.map(({ name }) => `extract ${name}`),
    onDependencyFailure: 'run',
    estimatedMs: 600,
    resources: { cpu: 1, shared: ['notes'] },
    run: async (task) => {
      const usable = [...task.outcomes.values()].filter(({ status }) => status === 'completed').length;
      await take(600, task, () => `${usable} of ${task.outcomes.size} notes`);
      return { usable, given: task.outcomes.size };
    },
  };
}

function report(chapters) {
  return {
    id: 'report',
    toolName: 'report',
    priority: 'critical',
    dependsOn: chapters.map((chapter) => `merge ${chapter}`),
    estimatedMs: 800,
    resources: { cpu: 2 },
    run: (task) => take(800, task, (share) => (share < 0.6 ? 'writing' : 'proof-reading')),
  };
}

/** Takes the given time, and tells how far it has come. */
async function take(ms, task, describe) {
  const beats = Math.ceil(ms / 60);
  for (let beat = 1; beat <= beats; beat++) {
    await pause(ms / beats, undefined, { signal: task.signal });
    task.report(beat / beats, describe(beat / beats));
  }
}
