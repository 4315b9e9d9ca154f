import { useEffect, useState } from 'preact/hooks';
import type { Extent } from '../../drawing/camera.ts';
import { AXIS_PX, lanePx, type TimeView } from '../../timeline/draw.ts';
import type { Span, Spans } from '../../timeline/spans.ts';
import { useAddressedNumbers } from '../../ui/addressed.ts';

const MARGIN_PX = 12;
const MIN_MS_PER_PX = 0.02;

export interface TimeControl {
  readonly shown: TimeView;
  readonly pan: (dx: number, dy: number) => void;
  readonly zoom: (factor: number, x: number) => void;
  readonly showAll: () => void;
  readonly reveal: (span: Span) => void;
  /** Shows what is between two places of the view. */
  readonly zoomTo: (fromX: number, toX: number) => void;
}

/** All of the time until somebody zooms; then what they chose, which is also in the address. */
export function useTimeView(spans: Spans, view: Extent): TimeControl {
  const [range, setRange] = useAddressedNumbers('time', 2);
  const width = Math.max(1, view.width);
  const chosen = range && {
    fromMs: range[0]!,
    msPerPx: Math.max(MIN_MS_PER_PX, (range[1]! - range[0]!) / width),
  };
  const setChosen = (next: { fromMs: number; msPerPx: number } | undefined) =>
    setRange(next && [next.fromMs, next.fromMs + next.msPerPx * width]);
  const [topPx, setTopPx] = useState(0);
  const room = Math.max(1, view.width - 2 * MARGIN_PX);
  const whole = Math.max(MIN_MS_PER_PX, spans.lengthMs / room);
  const { fromMs, msPerPx } = chosen ?? { fromMs: -MARGIN_PX * whole, msPerPx: whole };
  const high = lanePx(spans, view.height);
  const lowest = Math.max(0, spans.laneCount * high - (view.height - AXIS_PX - 8));
  const clampTop = (px: number) => Math.max(0, Math.min(lowest, px));
  useEffect(() => setTopPx(clampTop), [lowest]);
  return {
    shown: { fromMs, msPerPx, topPx: clampTop(topPx) },
    pan: (dx, dy) => {
      setTopPx(clampTop(topPx - dy));
      if (dx !== 0) setChosen({ msPerPx, fromMs: clampFrom(fromMs - dx * msPerPx, spans, view, msPerPx) });
    },
    zoom: (factor, x) => {
      const next = Math.max(MIN_MS_PER_PX, Math.min(whole, msPerPx / factor));
      if (next === whole) return setChosen(undefined);
      setChosen({ msPerPx: next, fromMs: clampFrom(fromMs + x * (msPerPx - next), spans, view, next) });
    },
    showAll: () => setChosen(undefined),
    zoomTo: (fromX, toX) => {
      const [left, right] = [Math.max(0, Math.min(fromX, toX)), Math.min(width, Math.max(fromX, toX))];
      const next = Math.max(MIN_MS_PER_PX, ((right - left) * msPerPx) / width);
      // A range that is too short to fill the width is in the middle of it.
      const middleMs = fromMs + ((left + right) / 2) * msPerPx;
      setChosen({ msPerPx: next, fromMs: clampFrom(middleMs - (width / 2) * next, spans, view, next) });
    },
    reveal: ({ startMs, lane }) => {
      const [top, bottom] = [lane * high, (lane + 1) * high - (view.height - AXIS_PX - 8)];
      setTopPx(clampTop(Math.max(bottom, Math.min(top, topPx))));
      if (chosen === undefined) return;
      const x = (startMs - fromMs) / msPerPx;
      if (x < 0 || x > view.width - 60) {
        setChosen({ msPerPx, fromMs: clampFrom(startMs - (view.width / 3) * msPerPx, spans, view, msPerPx) });
      }
    },
  };
}

function clampFrom(fromMs: number, { lengthMs }: Spans, { width }: Extent, msPerPx: number): number {
  const margin = MARGIN_PX * msPerPx;
  return Math.max(-margin, Math.min(lengthMs + margin - width * msPerPx, fromMs));
}
