import { type Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { onTestFinished } from 'vitest';
import { TOKENS } from '../../../server/support/serve.ts';
import { clientOf, type Revision } from './mcp.ts';

export interface HttpClient {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
}

/** A real client of a real server; closed after the test. */
export async function connectHttp(
  address: string,
  revision: Revision,
  token: string = TOKENS.run,
): Promise<HttpClient> {
  const transport = new StreamableHTTPClientTransport(new URL(`${address}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  const client = clientOf(revision);
  onTestFinished(() => client.close());
  await client.connect(transport, { timeout: 60_000 });
  return { client, transport };
}
