import type { ServerResponse } from 'node:http';

/** What a client asks for when it opens a stream. */
export interface StreamRequest {
  /** Only what happens to this batch. */
  readonly batch?: string;
  /** The id of the last event that the client has seen: the stream goes on behind it. */
  readonly lastEventId?: string;
  /** The moment (in milliseconds since 1970) from which on the client may not read any more. */
  readonly expiresAt?: number;
}

/** Sends events to everybody who wants to know, over SSE. */
export interface LiveEvents {
  /**
   * Takes over a response to which nothing has been written. Rejects, and leaves the response alone, when there are too
   * many streams or the server is closing.
   */
  subscribe(request: StreamRequest, response: ServerResponse): Promise<void>;
  /** Ends all streams with an `end` event. */
  close(reason: 'shutdown'): Promise<void>;
  /** How many streams are open. */
  readonly subscribers: number;
}
