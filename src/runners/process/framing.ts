import { KEPT_VARIABLES, type LaunchRequest } from './launcher.ts';

/** Length of the payload, id of the launch, type. The head of launcher.pl tells what each type holds. */
const HEADER_BYTES = 9;

export type FrameToHelper = 'L' | 'W' | 'E' | 'K';
export type FrameFromHelper = 'H' | 'S' | 'O' | 'R' | 'C' | 'A' | 'X';

export function encodeFrame(id: number, type: FrameToHelper, payload: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  writeHeader(frame, payload.length, id, type);
  payload.copy(frame, HEADER_BYTES);
  return frame;
}

export function encodeLaunch(id: number, request: LaunchRequest): Buffer {
  const { argv, cwd, env, limits, cgroups } = request;
  const parts = [cwd, (request.input ? 'i' : '') + (request.channel ? 'c' : ''), limitText(limits)];
  parts.push(String(cgroups.length), ...cgroups, String(argv.length), ...argv);
  for (const name in env) if (!KEPT_VARIABLES.has(name)) parts.push(`${name}=${env[name]}`);
  let length = 0;
  for (const part of parts) length += 4 + Buffer.byteLength(part);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length);
  writeHeader(frame, length, id, 'L');
  let at = HEADER_BYTES;
  for (const part of parts) {
    const written = frame.write(part, at + 4);
    frame.writeUInt32LE(written, at);
    at += 4 + written;
  }
  return frame;
}

function limitText({
  cpuSeconds,
  openFiles,
  processes,
  dataBytes,
  fileBytes,
}: LaunchRequest['limits']): string {
  let text = '';
  if (cpuSeconds !== undefined) text += `cpu=${cpuSeconds} `;
  if (openFiles !== undefined) text += `open=${openFiles} `;
  if (processes !== undefined) text += `processes=${processes} `;
  if (dataBytes !== undefined) text += `data=${dataBytes} `;
  if (fileBytes !== undefined) text += `file=${fileBytes} `;
  return text;
}

function writeHeader(frame: Buffer, length: number, id: number, type: FrameToHelper): void {
  frame.writeUInt32LE(length, 0);
  frame.writeUInt32LE(id, 4);
  frame[8] = type.charCodeAt(0);
}

/** Cuts the bytes that come from the helper into frames. A payload is a part of the chunk and not a copy. */
export class FrameReader {
  /** The beginning of a frame whose end has not come. */
  private parts: Buffer[] = [];
  private partBytes = 0;
  /** How many bytes there must be before it is worth looking at them. */
  private awaitedBytes = 0;

  constructor(private readonly take: (id: number, type: FrameFromHelper, payload: Buffer) => void) {}

  push(chunk: Buffer): void {
    if (this.partBytes > 0) {
      this.parts.push(chunk);
      this.partBytes += chunk.length;
      if (this.partBytes < this.awaitedBytes) return;
      chunk = Buffer.concat(this.parts, this.partBytes);
      this.parts = [];
      this.partBytes = 0;
    }
    let at = 0;
    this.awaitedBytes = HEADER_BYTES;
    while (chunk.length - at >= HEADER_BYTES) {
      const length = chunk.readUInt32LE(at);
      const end = at + HEADER_BYTES + length;
      if (end > chunk.length) {
        this.awaitedBytes = HEADER_BYTES + length;
        break;
      }
      const type = String.fromCharCode(chunk[at + 8]!) as FrameFromHelper;
      this.take(chunk.readUInt32LE(at + 4), type, chunk.subarray(at + HEADER_BYTES, end));
      at = end;
    }
    if (at < chunk.length) {
      this.parts = [chunk.subarray(at)];
      this.partBytes = chunk.length - at;
    }
  }
}
