import { type GraphItem, layOutGraph } from './layout.ts';

/** Laying out thousands of nodes takes long: it is done here, where nobody waits for a frame. */
self.onmessage = ({ data }: MessageEvent<{ ticket: number; items: readonly GraphItem[] }>) => {
  self.postMessage({ ticket: data.ticket, layout: layOutGraph(data.items) });
};
