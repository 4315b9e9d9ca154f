/** Limits of what one client may ask for. */

/** Tasks that one call may add. */
export const MAX_TASKS = 10_000;

/** Bytes of one message on standard input. */
export const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

/** Bytes of answers that a client may leave unread; its connection ends then. */
export const MAX_UNREAD_BYTES = 128 * 1024 * 1024;

/** The longest time that a batch may run. */
export const MAX_BATCH_SECONDS = 86_400;

/** The longest time that one call may wait; what runs then goes on. */
export const MAX_WAIT_SECONDS = 1800;

/** Most clients give up after 60 s: an answer that says "it still runs" comes before that. */
export const DEFAULT_WAIT_SECONDS = 50;
