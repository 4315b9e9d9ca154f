import { useEffect, useRef, useState } from 'preact/hooks';
import { foldItems } from '../../../src/cli/drawing/fold-items.ts';
import type { Row } from '../model/row.ts';
import type { OpenBatch } from '../store/state.ts';
import type { Layout } from './layout.ts';

export interface PlacedGraph {
  readonly layout: Layout;
  /** Ids in the order of the layout. */
  readonly ids: readonly string[];
}

/** So many items of an open group are nodes; more would bury the rest. */
export const MAX_ITEMS = 40;

/**
 * Lays out the graph in a worker, and again when tasks come or go or a group is opened. The former layout stays until
 * the new one is there.
 */
export function useLayout({ rows, places }: OpenBatch, opened: ReadonlySet<string>): PlacedGraph | undefined {
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
    const tasks = latest.current.map(({ id, depends_on, group }) => ({ id, dependsOn: depends_on, group }));
    const nodes = foldItems(tasks, ({ id }) => (opened.has(id) ? MAX_ITEMS : 0));
    const items = nodes.map(({ task: { id }, dependsOn }) => ({ id, dependsOn }));
    const ids = items.map(({ id }) => id);
    const answer = ({ data }: MessageEvent<{ ticket: number; layout: Layout }>) => {
      if (data.ticket === tickets.current) setPlaced({ layout: data.layout, ids });
    };
    worker.current!.addEventListener('message', answer);
    worker.current!.postMessage({ ticket, items });
    return () => worker.current?.removeEventListener('message', answer);
  }, [places, opened]);
  return placed;
}
