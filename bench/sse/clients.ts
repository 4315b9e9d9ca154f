import { createConnection } from 'node:net';
import { LAST } from './input.ts';

// Connects so many clients in a process of their own. They read, look for the last event, and do nothing else.
const [port, count] = process.argv.slice(2).map(Number) as [number, number];
const END = Buffer.from(LAST);
/** The last event is not longer than that, whatever stands around it. */
const TAIL = 400;
let connected = 0;
let done = 0;
for (let index = 0; index < count; index++) {
  const socket = createConnection({ port, host: '127.0.0.1' });
  let hasBegun = false;
  let isDone = false;
  let tail: Buffer = Buffer.alloc(0);
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n');
  socket.on('data', (bytes: Buffer) => {
    if (!hasBegun) {
      hasBegun = true;
      if (++connected === count) process.send!('connected');
    }
    tail = bytes.length >= TAIL ? bytes.subarray(-TAIL) : Buffer.concat([tail, bytes]).subarray(-TAIL);
    if (isDone || !tail.includes(END)) return;
    isDone = true;
    if (++done % count === 0) process.send!('done');
  });
}
process.on('message', () => process.exit());
