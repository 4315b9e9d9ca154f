import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from '@20minutes/s3rver';
import type { S3Credentials } from '../../../src/cluster/s3-store.ts';

/** The only ones that this server knows. It checks their signatures. */
export const CREDENTIALS: S3Credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };
const BUCKET = 'artifacts';
const SUFFIX = '._S3rver_object';

type Fault = (request: IncomingMessage, response: ServerResponse) => void;

/** An S3-compatible server with one bucket, and in front of it something that can answer in its place. */
export class OwnS3 {
  /** What answers the next requests. */
  readonly faults: Fault[] = [];
  requests = 0;

  private constructor(
    private readonly server: S3rver,
    private readonly front: Server,
    private readonly folder: string,
  ) {}

  static async start(): Promise<OwnS3> {
    const folder = mkdtempSync(join(tmpdir(), 'volley-s3-'));
    const server = new S3rver({
      ...{ address: '127.0.0.1', port: 0, silent: true, directory: folder },
      configureBuckets: [{ name: BUCKET }],
    });
    const { port } = await server.run();
    const front = createServer((from, to) => {
      own.requests++;
      const fault = own.faults.shift();
      if (fault === undefined) pass(from, to, port);
      else fault(from, to);
    });
    const own = new OwnS3(server, front, folder);
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
    return own;
  }

  /** The value of `cluster.artifacts`. */
  place(prefix: string, bucket = BUCKET): string {
    return `s3://${bucket}/${prefix}?endpoint=http://127.0.0.1:${(this.front.address() as AddressInfo).port}`;
  }

  keys(prefix: string): string[] {
    const folder = join(this.folder, BUCKET, prefix);
    const files = existsSync(folder) ? readdirSync(folder) : [];
    return files.flatMap((file) => (file.endsWith(SUFFIX) ? [file.slice(0, -SUFFIX.length)] : [])).sort();
  }

  overwrite(prefix: string, name: string, content: Buffer): void {
    writeFileSync(this.file(prefix, name), content);
  }

  setTime(prefix: string, name: string, time: Date): void {
    utimesSync(this.file(prefix, name), time, time);
  }

  async stop(): Promise<void> {
    this.front.closeAllConnections();
    await new Promise((resolve) => this.front.close(resolve));
    await this.server.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private file(prefix: string, name: string): string {
    return join(this.folder, BUCKET, prefix, name + SUFFIX);
  }
}

function pass(from: IncomingMessage, to: ServerResponse, port: number): void {
  const { method = '', url = '', headers } = from;
  // The host is part of the signature.
  const through = request({ host: '127.0.0.1', port, method, path: url, headers, agent: false }, (answer) => {
    to.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(to);
  });
  through.on('error', () => to.destroy());
  from.pipe(through);
}
