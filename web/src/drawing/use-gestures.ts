import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** Places are counted from the left top of the element. */
export interface Gestures {
  readonly pan: (dx: number, dy: number) => void;
  readonly zoom: (factor: number, x: number, y: number) => void;
  readonly tap: (x: number, y: number) => void;
  readonly hover: (x: number, y: number) => void;
  readonly leave: () => void;
  /** What dragging with a mouse does instead of moving the view: from here to there, and whether it is over. With Shift it moves the view. */
  readonly range?: (fromX: number, toX: number, isOver: boolean) => void;
}

const TAP_PX = 5;

/** Dragging, wheel and two fingers on a drawing. What lies above it takes its own pointers. */
export function useGestures(ref: RefObject<HTMLElement | null>, gestures: Gestures): void {
  const latest = useRef(gestures);
  latest.current = gestures;
  useEffect(() => {
    const element = ref.current!;
    const stop = new AbortController();
    const listen = <K extends keyof HTMLElementEventMap>(
      kind: K,
      run: (event: HTMLElementEventMap[K]) => void,
    ) => element.addEventListener(kind, run, { signal: stop.signal, passive: false });
    const pointers = new Map<number, { x: number; y: number }>();
    let moved = 0;
    /** Where a range begins that is being dragged. */
    let rangeX: number | undefined;
    const placeOf = (event: MouseEvent) => {
      const { left, top } = element.getBoundingClientRect();
      return { x: event.clientX - left, y: event.clientY - top };
    };
    listen('pointerdown', (event) => {
      if (event.button !== 0) return;
      if (pointers.size === 0) moved = 0;
      pointers.set(event.pointerId, placeOf(event));
      const isRange = latest.current.range !== undefined && event.pointerType === 'mouse' && !event.shiftKey;
      rangeX = isRange ? placeOf(event).x : undefined;
      element.setPointerCapture(event.pointerId);
    });
    listen('pointermove', (event) => {
      const place = placeOf(event);
      const before = pointers.get(event.pointerId);
      if (before === undefined) return latest.current.hover(place.x, place.y);
      moved += Math.abs(place.x - before.x) + Math.abs(place.y - before.y);
      pointers.set(event.pointerId, place);
      const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
      if (other === undefined) {
        if (moved <= TAP_PX) return;
        if (rangeX === undefined) latest.current.pan(place.x - before.x, place.y - before.y);
        else latest.current.range!(rangeX, place.x, false);
      } else {
        const factor = distance(place, other) / Math.max(1, distance(before, other));
        latest.current.zoom(factor, (place.x + other.x) / 2, (place.y + other.y) / 2);
      }
    });
    const release = (event: PointerEvent) => {
      const place = placeOf(event);
      if (!pointers.delete(event.pointerId)) return;
      if (moved > TAP_PX && rangeX !== undefined) {
        latest.current.range!(rangeX, event.type === 'pointerup' ? place.x : rangeX, true);
      } else if (event.type === 'pointerup' && moved <= TAP_PX) latest.current.tap(place.x, place.y);
      rangeX = undefined;
    };
    listen('pointerup', release);
    listen('pointercancel', release);
    listen('pointerleave', () => latest.current.leave());
    listen('wheel', (event) => {
      event.preventDefault();
      const place = placeOf(event);
      if (event.shiftKey) return latest.current.pan(-event.deltaY - event.deltaX, 0);
      latest.current.zoom(Math.exp(-Math.max(-80, Math.min(80, event.deltaY)) / 300), place.x, place.y);
    });
    return () => stop.abort();
  }, [ref]);
}

function distance(a: { x: number; y: number }, b: { x: number; y: number }): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
