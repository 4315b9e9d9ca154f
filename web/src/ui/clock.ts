import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';

/** The time for what counts up on the page; once a second is enough for people. */
export const now = signal(Date.now());

setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);
document.addEventListener('visibilitychange', () => {
  now.value = Date.now();
});

/** Follows a value that changes often, but no more than once in so many milliseconds. */
export function useThrottled<T>(value: T, ms: number): T {
  const [shown, setShown] = useState({ value, at: Date.now() });
  useEffect(() => {
    if (shown.value === value) return;
    const wait = Math.max(0, shown.at + ms - Date.now());
    const timer = setTimeout(() => setShown({ value, at: Date.now() }), wait);
    return () => clearTimeout(timer);
  }, [value, shown, ms]);
  return shown.value;
}
