import type { ServerResponse } from 'node:http';

/** Bytes of an answer that a client may leave unread. When more comes then, its connection ends. */
const MAX_UNREAD_BYTES = 32 * 2 ** 20;

/** The same answer, of which only so much waits for a client that does not read: its writer is never told to wait. */
export function limitUnread(answer: Response, outgoing: ServerResponse): Response {
  if (answer.body === null) return answer;
  const reader = answer.body.getReader();
  const handOn = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        if (controller.desiredSize! <= 0) break;
        controller.enqueue(value);
      }
    } catch {
      // The answer broke off, or its client has gone.
    }
    outgoing.destroy();
    await reader.cancel().catch(() => undefined);
  };
  const body = new ReadableStream<Uint8Array>(
    { start: (controller) => void handOn(controller), cancel: (reason) => reader.cancel(reason) },
    new ByteLengthQueuingStrategy({ highWaterMark: MAX_UNREAD_BYTES }),
  );
  const { status, statusText, headers } = answer;
  return new Response(body, { status, statusText, headers });
}
