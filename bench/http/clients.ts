import { once } from 'node:events';
import { connect } from 'node:net';

// Connections that each send a request when the answer to the one before is there, as wrk does.
const [port, path, count, requests, token] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string?,
];
const head = [
  `GET ${path} HTTP/1.1`,
  `host: 127.0.0.1:${port}`,
  ...(token ? [`authorization: Bearer ${token}`] : []),
];
const request = Buffer.from(`${head.join('\r\n')}\r\n\r\n`);
let open = 0;

/** One at a time, until so many were answered by all together. */
async function drain(total: number): Promise<void> {
  let left = total;
  const sockets = Array.from({ length: Number(count) }, () => connect(Number(port), '127.0.0.1'));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  await new Promise<void>((resolve, reject) => {
    for (const socket of sockets) {
      let text = '';
      socket.setEncoding('latin1').on('error', reject);
      socket.on('data', (piece: string) => {
        text += piece;
        const end = text.indexOf('\r\n\r\n');
        if (end < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(text)?.[1]);
        if (!text.startsWith('HTTP/1.1 200') || !Number.isFinite(length))
          reject(new Error(text.slice(0, 500)));
        if (text.length < end + 4 + length) return;
        text = text.slice(end + 4 + length);
        open--;
        next();
      });
      const next = () => {
        if (left === 0) {
          if (open === 0) resolve();
          return;
        }
        left--;
        open++;
        socket.write(request);
      };
      next();
    }
  });
  for (const socket of sockets) socket.destroy();
}

const start = performance.now();
await drain(Number(requests));
process.send!({ ms: performance.now() - start });
process.disconnect();
