import { readSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { deserialize } from 'node:v8';
import { loadCode } from '../load-code.ts';
import { fromWireError, toWireError, type WireError } from '../wire-error.ts';
import { type ChildCall, encodeFrame, FRAME, FrameReader, HEADER_BYTES, toJson } from './channel.ts';
import { ProgressSender } from './progress-sender.ts';

const INPUT = 0;
const CHANNEL = 3;
const MAX_ABORT_BYTES = 2 ** 20;

// The call comes first, so it is read synchronously.
const call = deserialize(readFrame()) as ChildCall;
// Standard input belongs to the runner. A tool that reads it finds it empty instead of consuming messages.
Object.defineProperty(process, 'stdin', { value: Readable.from([]), configurable: true });

const controller = new AbortController();
const progress = new ProgressSender((body) => send(FRAME.progress, body));
listenForAbort();

try {
  const run = await loadCode(call.code, call.toolName);
  const { id, attempt, input } = call;
  const { signal } = controller;
  // Whatever a process prints is its log.
  const log = (text: string) => void process.stdout.write(`${text}\n`);
  const result = await run(input, { id, attempt, signal, report: progress.report, log });
  finish(FRAME.result, toJson(result, call.toolName, call.resultBytes));
} catch (error) {
  fail(error);
}

function fail(error: unknown): void {
  finish(FRAME.error, JSON.stringify(toWireError(error)));
}

/** Sends the final frame. Whatever the tool left running ends here, after its exit handlers. */
function finish(kind: number, body: string): never {
  progress.flush();
  send(kind, body);
  process.exit(0);
}

function listenForAbort(): void {
  const reader = new FrameReader(
    (kind, body) => {
      if (kind === FRAME.abort) controller.abort(fromWireError(JSON.parse(body.toString()) as WireError));
    },
    (_kind, bodyBytes) => bodyBytes <= MAX_ABORT_BYTES,
  );
  const socket = new Socket({ fd: INPUT, readable: true, writable: false });
  // Keeps the process alive: a tool may wait for nothing but its signal.
  socket.on('data', (chunk) => reader.push(chunk));
  // The runner never closes this stream while it wants a result, so it is gone.
  socket.on('close', () => process.exit(1));
  socket.on('error', () => process.exit(1));
}

function readFrame(): Buffer {
  const header = readExactly(HEADER_BYTES);
  return readExactly(header.readUInt32LE(0));
}

function readExactly(bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes);
  for (let at = 0; at < bytes; ) {
    const count = retrying(() => readSync(INPUT, buffer, at, bytes - at, null));
    if (count === 0) process.exit(1);
    at += count;
  }
  return buffer;
}

/** Written synchronously, so that it arrives even if the tool crashes the process next. */
function send(kind: number, body: string): void {
  const frame = encodeFrame(kind, body);
  for (let at = 0; at < frame.length; ) {
    at += retrying(() => writeSync(CHANNEL, frame, at, frame.length - at));
  }
}

/** The descriptors may or may not block, depending on how the process was started. */
function retrying(action: () => number): number {
  for (;;) {
    try {
      return action();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}
