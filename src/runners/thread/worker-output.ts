/** What a call may print. */
const MAX_BYTES = 65_536;

export interface OutputLimit {
  /** A new call may print again. */
  begin(toolName: string): void;
}

type Write = typeof process.stderr.write;

/**
 * What tools print goes to the error stream of the process, since its output stream may carry a protocol, and only so
 * much for each call, since it is buffered. What is written to a descriptor directly cannot be caught in a thread, and
 * what is still on its way when the process ends is lost.
 */
export function limitOutput(): OutputLimit {
  const writeThrough = process.stderr.write.bind(process.stderr);
  let left = MAX_BYTES;
  let tool = '';
  const write = ((chunk: string | Uint8Array, encoding?: unknown, callback?: unknown) => {
    const bytes = typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.byteLength;
    if (bytes <= left) {
      left -= bytes;
      return (writeThrough as (...args: unknown[]) => boolean)(chunk, encoding, callback);
    }
    if (left >= 0)
      writeThrough(`volley: the tool "${tool}" printed more than ${MAX_BYTES} bytes; the rest is dropped\n`);
    left = -1;
    const done = typeof encoding === 'function' ? encoding : callback;
    if (typeof done === 'function') process.nextTick(done as () => void);
    return true;
  }) as Write;
  process.stdout.write = write;
  process.stderr.write = write;
  return {
    begin(toolName) {
      left = MAX_BYTES;
      tool = toolName;
    },
  };
}
