import type { Readable, Writable } from 'node:stream';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { reasonText } from '../../core/words.ts';
import { CallCount } from './call-count.ts';
import { createServer } from './create-server.ts';
import { LineTransport } from './line-transport.ts';
import type { Offer } from './serve-tools.ts';
import type { OpenBackend } from './tool.ts';
import { ListenUpdates } from './updates.ts';

interface StdioOptions {
  readonly open: OpenBackend;
  readonly offer: Offer;
  readonly version: string;
  readonly input: Readable;
  readonly output: Pick<Writable, 'write'>;
  /** Ends the connection from this side. */
  readonly signal: AbortSignal;
  /** Takes lines for people. */
  log(text: string): void;
}

/** So long calls that were cancelled by the end of the connection may take to stop what they started. */
const LAST_CALLS_MS = 5000;

/** Serves one client over its pipes until it goes away, and until its calls have stopped. */
export async function serveMcpStdio({
  open,
  offer,
  version,
  input,
  output,
  signal,
  log,
}: StdioOptions): Promise<void> {
  const calls = new CallCount();
  const onError = (error: unknown) => log(reasonText(error));
  const updates = new ListenUpdates(open);
  const transport = new LineTransport(input, output, () => updates.asked());
  const shared = { open: updates.open, offer, version, calls, onError };
  const handle = serveStdio(
    ({ era }) => {
      if (era === 'legacy') return createServer({ ...shared, era, updates: 'subscribed' });
      const server = createServer({ ...shared, era, updates: 'none' });
      updates.serve(server);
      return server;
    },
    { transport, onerror: onError },
  );
  const stop = () => void handle.close();
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  await transport.closed;
  signal.removeEventListener('abort', stop);
  await handle.close();
  await calls.idle(LAST_CALLS_MS);
}
