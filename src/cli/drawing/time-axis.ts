const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** Steps that people count in. */
const STEPS = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  SECOND,
  2 * SECOND,
  5 * SECOND,
  10 * SECOND,
  15 * SECOND,
  30 * SECOND,
  MINUTE,
  2 * MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  6 * HOUR,
  12 * HOUR,
];

export interface Tick {
  readonly ms: number;
  readonly text: string;
}

/** Marks for a part of a time line, which begins at 0: round steps, about so many at most. */
export function ticksFor(lengthMs: number, most: number, fromMs = 0): Tick[] {
  const least = lengthMs / most;
  const days = Math.max(1, Math.ceil(least / (24 * HOUR)));
  const step = STEPS.find((one) => one >= least) ?? days * 24 * HOUR;
  const ticks: Tick[] = [];
  const first = Math.max(0, Math.ceil(fromMs / step)) * step;
  for (let ms = first; ms <= fromMs + lengthMs; ms += step) ticks.push({ ms, text: tickText(ms, step) });
  return ticks;
}

/** In the unit of the step: `0`, `250 ms`, `1.5 s`, `2:30`, `1:00 h`. */
function tickText(ms: number, step: number): string {
  if (ms === 0) return '0';
  if (step < SECOND && ms < SECOND) return `${ms} ms`;
  if (ms < MINUTE) return `${Number((ms / SECOND).toFixed(3))} s`;
  if (step < SECOND) return `${Number((ms / SECOND).toFixed(3))} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)}:${twoDigits((ms % MINUTE) / SECOND)} min`;
  return `${Math.floor(ms / HOUR)}:${twoDigits((ms % HOUR) / MINUTE)} h`;
}

function twoDigits(value: number): string {
  return String(Math.floor(value)).padStart(2, '0');
}
