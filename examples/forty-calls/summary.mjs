/** What is to be said when all has ended. */

import { cell, paint, screenWidth, seconds, sparkline } from './paint.mjs';
import { TOOLS } from './story.mjs';

export function summaryLines(engine, outcome, outcomes) {
  const attempts = engine.allocationHistory();
  return [
    headline(attempts, outcome),
    '',
    ...timeline(attempts, outcomes, outcome.durationMs, screenWidth()),
    '',
    ...figures(engine, attempts, outcome),
    '',
    ...troubles(outcomes),
    '',
  ];
}

function headline(attempts, { total, durationMs }) {
  const workMs = attempts.reduce((sum, { from, until }) => sum + until - from, 0);
  const factor = (workMs / durationMs).toFixed(1);
  return ` ${paint('bold', `${total} calls in ${seconds(durationMs)}`)}; one after another they take ${seconds(workMs)}: ${paint(['green', 'bold'], `${factor} times as fast`)}`;
}

/** For each tool how many of its calls ran at each moment, and what they took. */
function timeline(attempts, outcomes, durationMs, width) {
  const columns = width - 45;
  const startedAt = Math.min(...attempts.map(({ from }) => from));
  const row = (name, calls, tries) => {
    const line = sparkline(running(tries, startedAt, durationMs, columns), 8);
    return ` ${cell(name, 8)} ${line}   ${String(calls.length).padStart(5)}  ${String(tries.length).padStart(5)}`;
  };
  const end = seconds(durationMs);
  return [
    paint(
      'dim',
      `${' '.repeat(10)}${cell('0 s', columns - end.length)}${end}   calls  tries    mean  slowest`,
    ),
    ...TOOLS.map(({ name, colour }) => {
      const calls = outcomes.filter(({ toolName }) => toolName === name);
      const tries = attempts.filter(({ toolName }) => toolName === name);
      const spans = calls.filter(({ status }) => status === 'completed').map((call) => call.durationMs);
      const mean = seconds(spans.reduce((sum, span) => sum + span, 0) / spans.length);
      return `${paint(colour, row(name, calls, tries))}  ${mean.padStart(6)}  ${seconds(Math.max(...spans)).padStart(7)}`;
    }),
    row('all', outcomes, attempts),
  ];
}

/** How many of the attempts ran in the middle of each of so many equal spans. */
function running(attempts, startedAt, durationMs, columns) {
  return Array.from({ length: columns }, (_, column) => {
    const moment = startedAt + ((column + 0.5) * durationMs) / columns;
    return attempts.filter(({ from, until }) => from <= moment && moment < until).length;
  });
}

function figures(engine, attempts, { counts, durationMs }) {
  const { duration, retries, utilization } = engine.statistics();
  const busy = (resource) => {
    const used = attempts.reduce(
      (sum, { amounts, from, until }) => sum + amounts[resource] * (until - from),
      0,
    );
    return `${Math.round((100 * used) / (utilization[resource].limit * durationMs))} %`;
  };
  return [
    ` ${paint('green', `${counts.completed} completed`)}, ${paint('red', `${counts.failed} failed`)}, ${counts.skipped} skipped, ${paint('yellow', `${retries} retries`)}`,
    ` a call took ${seconds(duration.p50Ms)} (p50), ${seconds(duration.p95Ms)} (p95)`,
    ` in use on average: slots ${busy('concurrency')}, network ${busy('networkOperations')}, cpu ${busy('cpu')}`,
  ];
}

/** What went wrong for good, what that led to, and who did without it. */
function troubles(outcomes) {
  return outcomes.flatMap((outcome) => {
    const { id, status, value } = outcome;
    if (status === 'failed') return [` ${paint('red', '✗')} ${id}: ${outcome.error.message}`];
    if (status === 'skipped') return [` ${paint('dim', '↷')} ${id}: skipped, because of "${outcome.cause}"`];
    if (value?.usable < value?.given)
      return [` ${paint('green', '✓')} ${id}: made of ${value.usable} notes instead of ${value.given}`];
    return [];
  });
}
