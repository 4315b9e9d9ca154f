import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { TOKENS } from '../../../server/support/serve.ts';

type Named = Readonly<Record<string, unknown>>;

interface Message {
  readonly method?: unknown;
  readonly params?: Named;
}

/** The batch whose resources the suite gets for its own. */
export const WATCHED = 'watched-123';

const RESOURCES: ReadonlyMap<unknown, string> = new Map([
  ['test://static-text', `volley://batches/${WATCHED}`],
  ['test://template/123/data', `volley://results/${WATCHED}`],
  ['test://watched-resource', `volley://batches/${WATCHED}`],
]);

const failing = { function: 'broken', params: {} };
/** Ends in a chain, so that there are steps to tell of. */
const steps = [1, 2, 3].map((step) => ({
  id: `step-${step}`,
  function: 'calculate',
  params: { seconds: 0.4 },
  ...(step > 1 && { depends_on: [`step-${step - 1}`] }),
}));

/** What the suite's own tools are in Volley: batches that behave as the suite wants. */
const BATCHES: Readonly<Record<string, (args: Named) => Named>> = {
  test_simple_text: () => ({ tasks: [{ function: 'echo', params: { text: 'hello' } }] }),
  greet: (params) => ({ tasks: [{ function: 'echo', params }] }),
  test_error_handling: () => ({ tasks: [{ function: 'no_such_function' }] }),
  test_tool_with_logging: () => ({ tasks: [failing, failing, failing] }),
  test_logging_tool: () => ({ tasks: [failing] }),
  test_tool_with_progress: () => ({ tasks: steps }),
  test_streaming_elicitation: () => ({ tasks: [{ function: 'echo', params: {} }] }),
  slow_compute: ({ seconds }) => ({ tasks: [{ function: 'calculate', params: { seconds } }], wait: 0.05 }),
  failing_job: () => ({
    tasks: [{ function: 'calculate', params: { seconds: 0.5, fails: true } }],
    wait: 0.05,
  }),
};

/**
 * Stands between the suite and a server of Volley. The suite has no token, so that is added; and it calls tools and reads
 * resources of its own by name, which are replaced by batches and resources of Volley that do what is looked at. Answers
 * pass as they are.
 */
export async function standInFor(address: string): Promise<string> {
  const { port, hostname } = new URL(address);
  const server = createServer((incoming, outgoing) => {
    void pass(incoming, outgoing, { port, hostname }).catch(() => outgoing.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://localhost:${(server.address() as AddressInfo).port}/mcp`;
}

async function pass(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  to: { readonly port: string; readonly hostname: string },
): Promise<void> {
  const { method = 'GET', url = '/', headers } = incoming;
  const { body, name } = translate(await text(incoming), headers['mcp-name']);
  const upstream = request({
    ...to,
    method,
    path: url,
    headers: {
      ...headers,
      authorization: `Bearer ${TOKENS.admin}`,
      ...(name !== undefined && { 'mcp-name': name }),
      ...(body !== '' && { 'content-length': Buffer.byteLength(body) }),
    },
  });
  upstream.on('error', () => outgoing.destroy());
  upstream.on('response', (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.on('error', () => outgoing.destroy()).pipe(outgoing);
  });
  outgoing.on('close', () => upstream.destroy());
  upstream.end(body);
}

function translate(given: string, name: string | string[] | undefined): { body: string; name: typeof name } {
  let message: Message;
  try {
    message = JSON.parse(given) as Message;
  } catch {
    return { body: given, name };
  }
  const { method, params } = message;
  const batch = method === 'tools/call' ? BATCHES[String(params?.['name'])] : undefined;
  const uri = String(method).startsWith('resources/') ? RESOURCES.get(params?.['uri']) : undefined;
  const called = batch === undefined ? params?.['uri'] : params?.['name'];
  const meant = batch === undefined ? uri : 'run_batch';
  if (meant === undefined) return { body: given, name };
  const args = batch?.((params?.['arguments'] ?? {}) as Named);
  const changed = args === undefined ? { uri } : { name: 'run_batch', arguments: args };
  return {
    body: JSON.stringify({ ...message, params: { ...params, ...changed } }),
    // A header that was wrong on purpose stays wrong.
    name: name === called ? meant : name,
  };
}
