import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that hands all requests on, and notes their responses. */
export async function plainServer(
  take: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ readonly port: number; readonly responses: ServerResponse[] }> {
  const responses: ServerResponse[] = [];
  const server = createServer((request, response) => {
    responses.push(response);
    take(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 2048, resolve));
  return { port: (server.address() as AddressInfo).port, responses };
}
