import { useEffect, useRef, useState } from 'preact/hooks';
import type { OpenBatch, Row } from '../store/state.ts';
import type { Layout } from './layout.ts';

export interface PlacedGraph {
  readonly layout: Layout;
  /** Ids in the order of the layout. */
  readonly ids: readonly string[];
}

/** Lays out the graph in a worker, and again when tasks come or go. The former layout stays until the new one is there. */
export function useLayout({ rows, places }: OpenBatch): PlacedGraph | undefined {
  const [placed, setPlaced] = useState<PlacedGraph>();
  const worker = useRef<Worker | undefined>(undefined);
  const tickets = useRef(0);
  const latest = useRef<readonly Row[]>(rows);
  latest.current = rows;
  useEffect(() => {
    worker.current = new Worker(new URL('./layout-worker.ts', import.meta.url), { type: 'module' });
    return () => worker.current?.terminate();
  }, []);
  useEffect(() => {
    if (places.size === 0) return setPlaced(undefined);
    const ticket = ++tickets.current;
    const ids = latest.current.map(({ id }) => id);
    const answer = ({ data }: MessageEvent<{ ticket: number; layout: Layout }>) => {
      if (data.ticket === tickets.current) setPlaced({ layout: data.layout, ids });
    };
    worker.current!.addEventListener('message', answer);
    const items = latest.current.map(({ id, depends_on }) => ({ id, dependsOn: depends_on }));
    worker.current!.postMessage({ ticket, items });
    return () => worker.current?.removeEventListener('message', answer);
  }, [places]);
  return placed;
}
