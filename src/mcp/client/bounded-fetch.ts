import { LONGEST_MESSAGE } from './limits.ts';

const LINE_FEED = 0x0a;

/** `fetch` whose answers are bounded: a body as a whole, a stream of events by the event. */
export async function boundedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (response.body === null) return response;
  const isStream = response.headers.get('content-type')?.includes('text/event-stream') === true;
  const { status, statusText, headers } = response;
  const body = response.body.pipeThrough(bounded(isStream));
  const limited = new Response(body, { status, statusText, headers });
  // The address of an answer tells whether it was redirected, and a new one has none.
  Object.defineProperty(limited, 'url', { value: response.url });
  return limited;
}

function bounded(isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > LONGEST_MESSAGE) throw new Error(`The answer has more than ${LONGEST_MESSAGE} bytes.`);
      controller.enqueue(chunk);
      // An event has no line breaks inside: what ends with one is done with.
      if (isStream && chunk.at(-1) === LINE_FEED) bytes = 0;
    },
  });
}
