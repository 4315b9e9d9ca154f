import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';

const OVERSCAN = 8;

interface Size {
  readonly top: number;
  readonly height: number;
  readonly rowHeight: number;
}

export interface Window {
  readonly rowHeight: number;
  readonly first: number;
  /** Behind the last one. */
  readonly end: number;
  readonly perPage: number;
}

/**
 * Which rows of a scrolled list are in sight. The height of a row is a property of the style sheet (`--row-height`), so
 * that it may differ on narrow screens.
 */
export function useWindow(ref: RefObject<HTMLElement | null>, count: number): Window {
  const [{ top, height, rowHeight }, setSize] = useState<Size>({ top: 0, height: 800, rowHeight: 36 });
  useEffect(() => {
    const element = ref.current!;
    let frame = 0;
    const measure = () => {
      frame = 0;
      const own = Number.parseFloat(getComputedStyle(element).getPropertyValue('--row-height')) || 36;
      setSize({ top: element.scrollTop, height: element.clientHeight, rowHeight: own });
    };
    const later = () => {
      frame ||= requestAnimationFrame(measure);
    };
    measure();
    const watcher = new ResizeObserver(later);
    watcher.observe(element);
    element.addEventListener('scroll', later, { passive: true });
    return () => {
      cancelAnimationFrame(frame);
      watcher.disconnect();
      element.removeEventListener('scroll', later);
    };
  }, [ref]);
  const perPage = Math.max(1, Math.floor(height / rowHeight) - 1);
  const first = Math.max(0, Math.min(Math.floor(top / rowHeight), count - perPage) - OVERSCAN);
  const end = Math.min(count, Math.ceil((top + height) / rowHeight) + OVERSCAN);
  return { rowHeight, first, end: Math.max(first, end), perPage };
}
