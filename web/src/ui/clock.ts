import { computed, signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { ahead } from '../api/server-time.ts';

const own = signal(Date.now());

/** The time of the server for what counts up on the page; once a second is enough for people. */
export const now = computed(() => own.value + ahead.value);

setInterval(() => {
  if (!document.hidden) own.value = Date.now();
}, 1000);
document.addEventListener('visibilitychange', () => {
  own.value = Date.now();
});

/** The beginning of this day: what depends on the day alone is not drawn anew every second. */
export const today = computed(() => new Date(now.value).setHours(0, 0, 0, 0));

/** Follows a value that changes often, at most once per interval. */
export function useThrottled<T>(value: T, ms: number): T {
  const [shown, setShown] = useState({ value, at: performance.now() });
  useEffect(() => {
    if (shown.value === value) return;
    const wait = Math.max(0, shown.at + ms - performance.now());
    const timer = setTimeout(() => setShown({ value, at: performance.now() }), wait);
    return () => clearTimeout(timer);
  }, [value, shown, ms]);
  return shown.value;
}
