import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type Server, type ServerOptions } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { ServerSettings } from '../config/config.ts';
import { VolleyError } from '../core/errors.ts';
import { isLoopback } from './http/client-address.ts';

const DEFAULT_PORT = 7717;
const MAX_HEADER_BYTES = 16_384;
/** How often slow connections are checked. */
const CHECK_MS = 1000;

export interface Listening {
  readonly server: Server;
  readonly port: number;
  readonly address: string;
  /** Whether the system chose the port. The next server will have another. */
  readonly isPortByChance: boolean;
  /** The SHA-256 of the certificate, if it speaks HTTPS. */
  readonly certificate: string | null;
}

/** Starts listening. Requests are answered only once there is a listener. */
export async function listen(settings: ServerSettings): Promise<Listening> {
  requireTokens(settings);
  const { host, limits, tls } = settings;
  const options: ServerOptions = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: limits.headerTimeoutMs,
    requestTimeout: Math.max(limits.requestTimeoutMs, limits.headerTimeoutMs),
    connectionsCheckingInterval: Math.min(CHECK_MS, limits.headerTimeoutMs),
    requireHostHeader: true,
  };
  const files = tls === undefined ? undefined : readTls(tls);
  const server =
    files === undefined
      ? createServer(options)
      : createSecureServer({ ...options, ...files, handshakeTimeout: limits.headerTimeoutMs });
  server.maxConnections = limits.maxConnections;
  const port = await listenOn(server, host, settings.port);
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return {
    server,
    port,
    isPortByChance: port !== (settings.port ?? DEFAULT_PORT),
    address: `${files === undefined ? 'http' : 'https'}://${shown}:${port}`,
    certificate: files === undefined ? null : new X509Certificate(files.cert).fingerprint256,
  };
}

/** Throws if other machines can connect but no token is configured. */
function requireTokens({ host, tokens }: ServerSettings): void {
  if (isLoopback(host) || Object.keys(tokens).length > 0) return;
  throw notStarted(
    `Other machines can reach ${host}, so a token is required. Add one to volley.toml (volley token NAME creates it), or listen on 127.0.0.1.`,
  );
}

async function listenOn(server: Server, host: string, wanted: number | undefined): Promise<number> {
  try {
    return await tryPort(server, host, wanted ?? DEFAULT_PORT);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE' && wanted === undefined) return tryPort(server, host, 0);
    if (code === 'EADDRINUSE')
      throw notStarted(
        `Port ${wanted} of ${host} is taken: choose another with --port, or 0 for a free one.`,
      );
    throw notStarted(`The server cannot listen on ${host}: ${message}.`);
  }
}

function tryPort(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function readTls({ certificate, key }: { readonly certificate: string; readonly key: string }) {
  try {
    const files = { cert: readFileSync(certificate), key: readFileSync(key), minVersion: 'TLSv1.2' as const };
    new X509Certificate(files.cert);
    return files;
  } catch (error) {
    throw notStarted(`The certificate cannot be read: ${(error as Error).message}.`);
  }
}

export function notStarted(message: string, details?: Record<string, unknown>): VolleyError {
  return new VolleyError('SERVER_NOT_STARTED', message, details);
}
