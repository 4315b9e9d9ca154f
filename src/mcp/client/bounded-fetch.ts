import { MAX_MESSAGE_BYTES } from './limits.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** `fetch` whose answers are bounded: a body as a whole, a stream of events by the event. */
export async function boundedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (response.body === null) return response;
  const isStream = response.headers.get('content-type')?.includes('text/event-stream') === true;
  const { status, statusText, headers } = response;
  const body = response.body.pipeThrough(
    bounded(isStream ? eventBytes() : (chunk, before) => before + chunk.length),
  );
  const limited = new Response(body, { status, statusText, headers });
  // The URL of a response shows whether it was redirected. A new Response has none.
  Object.defineProperty(limited, 'url', { value: response.url });
  return limited;
}

/** How many bytes there are that belong together, after a chunk and those before it. */
type CountBytes = (chunk: Uint8Array, before: number) => number;

function bounded(count: CountBytes): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes = count(chunk, bytes);
      if (bytes > MAX_MESSAGE_BYTES) throw new Error(`The answer has more than ${MAX_MESSAGE_BYTES} bytes.`);
      controller.enqueue(chunk);
    },
  });
}

/** Of the event that has not ended: it may have many lines, and only an empty one ends it. */
function eventBytes(): CountBytes {
  let isLineEmpty = true;
  return (chunk, before) => {
    let bytes = before;
    for (const byte of chunk) {
      bytes++;
      if (byte === LINE_FEED) {
        if (isLineEmpty) bytes = 0;
        isLineEmpty = true;
      } else if (byte !== CARRIAGE_RETURN) isLineEmpty = false;
    }
    return bytes;
  };
}
