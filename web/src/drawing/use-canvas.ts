import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Extent } from './camera.ts';

/** The size of an element, and again whenever it changes. */
export function useExtent(ref: RefObject<HTMLElement | null>): Extent {
  const [extent, setExtent] = useState<Extent>({ width: 0, height: 0 });
  useEffect(() => {
    const element = ref.current!;
    const watcher = new ResizeObserver(() =>
      setExtent({ width: element.clientWidth, height: element.clientHeight }),
    );
    watcher.observe(element);
    return () => watcher.disconnect();
  }, [ref]);
  return extent;
}

/** An empty canvas of this size, sharp on any screen. */
export function cleared(canvas: HTMLCanvasElement, { width, height }: Extent): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  const context = canvas.getContext('2d')!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** Shortens texts to one width, and remembers them. */
export class Shortener {
  private readonly known = new Map<string, string>();

  constructor(private readonly width: number) {}

  shorten(context: CanvasRenderingContext2D, text: string): string {
    let short = this.known.get(text);
    if (short === undefined) {
      short = cut(context, text, this.width);
      this.known.set(text, short);
    }
    return short;
  }
}

/** As much of a string as fits, with dots where something is left out. */
export function cut(context: CanvasRenderingContext2D, text: string, width: number): string {
  const whole = context.measureText(text).width;
  if (whole <= width) return text;
  let length = Math.floor((text.length * width) / whole);
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > width) length--;
  return `${text.slice(0, length)}…`;
}
