import { closeSync, constants, openSync, readdirSync, realpathSync, writeSync } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentEvent, AgentUsage } from '../../agents/adapter.ts';
import { usageText } from '../../agents/usage.ts';
import type { LogSource } from '../../batch/log-page.ts';
import { VolleyError } from '../../core/errors.ts';
import { printableLine, printableText } from '../../core/printable-text.ts';
import { livesAsSeenBy, ownIdentity, type ProcessIdentity } from '../../store/process-identity.ts';
import type { OutputLine } from '../../store/records.ts';
import { isoTime } from '../files/readiness.ts';

/** A line of a transcript: what the agent of an attempt said or did, or what Volley did with its work. */
type TranscriptEvent =
  | AgentEvent
  | {
      readonly type: 'start';
      readonly agent: string;
      readonly attempt: number;
      /** The worker that ran the agent, if that was on another machine. */
      readonly worker?: string;
      readonly folder: string;
      /** The process that writes the transcript. */
      readonly process: ProcessIdentity;
    }
  | { readonly type: 'prompt' | 'stderr' | 'raw' | 'note'; readonly text: string }
  | { readonly type: 'end'; readonly ok: boolean; readonly text: string; readonly usage: AgentUsage };

type TranscriptLine = TranscriptEvent & { readonly at: string };

const FOLDER = join('.volley', 'transcripts');
const FILE = /^(\d{1,9})\.jsonl$/;
/** The largest transcript. What comes later is left out, except the end. */
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_TEXT_LENGTH = 64 * 1024;
/** Transcripts kept for each subtask. */
const MAX_KEPT = 20;
const FOLLOW_MS = 200;
const CHUNK_BYTES = 1024 * 1024;

/** The path of a transcript, relative to the project. */
export function transcriptPath(feature: string, seq: string, attempt: number): string {
  return join(FOLDER, feature, seq, `${attempt}.jsonl`);
}

/** The numbers of the attempts at a subtask that have transcripts, in order. */
export function transcribedAttempts(project: string, feature: string, seq: string): number[] {
  let names: string[];
  try {
    names = readdirSync(join(project, FOLDER, feature, seq));
  } catch {
    return [];
  }
  const numbers = names.flatMap((name) => {
    const found = FILE.exec(name);
    return found === null ? [] : [Number(found[1])];
  });
  return numbers.sort((a, b) => a - b);
}

/** Writes the transcript of one attempt as things happen. */
export class TranscriptWriter {
  private bytes = 0;
  private isFull = false;

  private constructor(
    private readonly file: number | undefined,
    private readonly redact: (text: string) => string,
    /** The log of the task, which has the same. */
    private readonly log: (text: string) => void,
  ) {}

  /** Failing to keep a transcript is no reason to fail the work. */
  static async open(
    project: string,
    feature: string,
    seq: string,
    attempt: number,
    redact: (text: string) => string,
    log: (text: string) => void = () => undefined,
  ): Promise<TranscriptWriter> {
    try {
      const folder = join(project, FOLDER, feature, seq);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      // An agent may have put a link there.
      if (realpathSync(folder) !== join(realpathSync(project), FOLDER, feature, seq))
        throw new Error('a link');
      const old = transcribedAttempts(project, feature, seq).filter((one) => one !== attempt);
      for (const one of old.slice(0, Math.max(0, old.length - MAX_KEPT + 1)))
        await rm(join(project, transcriptPath(feature, seq, one)), { force: true });
      const { O_WRONLY, O_CREAT, O_EXCL, O_APPEND } = constants;
      const path = join(project, transcriptPath(feature, seq, attempt));
      return new TranscriptWriter(openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0o600), redact, log);
    } catch {
      return new TranscriptWriter(undefined, redact, log);
    }
  }

  /** Whether anything is written. */
  get isOpen(): boolean {
    return this.file !== undefined;
  }

  add(event: TranscriptEvent): void {
    this.log(eventText(event));
    if (this.file === undefined || (this.isFull && event.type !== 'end')) return;
    const line = this.lineOf(event);
    if (event.type !== 'end' && this.bytes + line.length > MAX_BYTES) {
      this.isFull = true;
      this.write(this.lineOf({ type: 'note', text: 'The transcript is too long; the rest is left out.' }));
    } else this.write(line);
  }

  note(text: string): void {
    this.add({ type: 'note', text });
  }

  close(): void {
    if (this.file !== undefined) closeSync(this.file);
  }

  private lineOf(event: TranscriptEvent): Buffer {
    const shown = (value: unknown) => (typeof value === 'string' ? this.shown(value) : value);
    const fields = Object.entries(event).map(([key, value]) => [key, key === 'type' ? value : shown(value)]);
    return Buffer.from(`${JSON.stringify({ at: isoTime(Date.now()), ...Object.fromEntries(fields) })}\n`);
  }

  private shown(text: string): string {
    const redacted = this.redact(text.slice(0, 2 * MAX_TEXT_LENGTH));
    return redacted.length > MAX_TEXT_LENGTH ? `${redacted.slice(0, MAX_TEXT_LENGTH)}…` : redacted;
  }

  private write(line: Buffer): void {
    try {
      this.bytes += writeSync(this.file!, line);
    } catch {
      // The disk may be full. The work goes on.
    }
  }
}

/**
 * Yields the lines of a transcript. With `follow`, waits for more until the attempt ends, its process dies or the signal
 * is aborted.
 */
export async function* readTranscript(
  project: string,
  path: string,
  { follow = false, signal }: { readonly follow?: boolean; readonly signal?: AbortSignal } = {},
): AsyncGenerator<TranscriptLine, void, undefined> {
  // No links: an agent could make one to a file of the user.
  const file = await open(
    join(project, path),
    constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
  );
  try {
    if (!(await file.stat()).isFile())
      throw new VolleyError('TASKS_UNAVAILABLE', `${path} is not a file.`, { path });
    const buffer = Buffer.alloc(CHUNK_BYTES);
    let rest = Buffer.alloc(0);
    let writer: ProcessIdentity | undefined;
    for (let isLast = false; ; ) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) {
        if (isLast || !follow || signal?.aborted) return;
        // One more look: it may have written something before it died.
        isLast = writer !== undefined && livesAsSeenBy(ownIdentity(), writer) === false;
        await sleep(FOLLOW_MS, undefined, signal && { signal }).catch(() => undefined);
        continue;
      }
      const text = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      const end = text.lastIndexOf('\n') + 1;
      rest = Buffer.from(text.subarray(end));
      if (rest.length > 4 * MAX_TEXT_LENGTH) rest = Buffer.alloc(0);
      for (const line of text.toString('utf8', 0, end).split('\n')) {
        const event = parsedLine(line);
        if (event === undefined) continue;
        if (event.type === 'start') writer = event.process;
        yield event;
        if (event.type === 'end') return;
      }
    }
  } finally {
    await file.close();
  }
}

function parsedLine(line: string): TranscriptLine | undefined {
  try {
    const data = JSON.parse(line) as TranscriptLine;
    return typeof data.at === 'string' && typeof data.type === 'string' ? data : undefined;
  } catch {
    // Empty, cut short by a crash, or written by someone else.
    return undefined;
  }
}

/** A line for people. It is safe for a terminal, whatever the agent wrote. */
export function transcriptText(line: TranscriptLine): string {
  const time = printableLine(line.at.slice(11, 19));
  return `${time}  ${eventText(line).replaceAll('\n', '\n          ')}`;
}

/** What happened, for people: a sign of what it is, and the text, whose further lines are indented. */
function eventText(event: TranscriptEvent): string {
  const shown = (text: unknown, indent = '  ') =>
    printableText(typeof text === 'string' ? text : '')
      .trimEnd()
      .replaceAll('\n', `\n${indent}`);
  switch (event.type) {
    case 'start':
      return `▶ attempt ${Number(event.attempt)} by ${printableLine(String(event.agent))}${event.worker === undefined ? '' : ` on ${printableLine(String(event.worker))}`} in ${printableLine(String(event.folder))}`;
    case 'prompt':
      return `> ${shown(event.text)}`;
    case 'text':
    case 'raw':
      return `  ${shown(event.text)}`;
    case 'tool':
      return `$ ${shown(event.name)}${event.detail === undefined ? '' : ` ${shown(event.detail)}`}`;
    case 'output':
      return `${event.ok ? '│' : '✗'} ${shown(event.text, '│ ')}`;
    case 'stderr':
      return `! ${shown(event.text)}`;
    case 'note':
      return `· ${shown(event.text)}`;
    case 'usage':
      return `· ${usageText(event)}`;
    case 'result':
      return `${event.ok ? '=' : '✗'} ${shown(event.text)}`;
    case 'end':
      return `${event.ok ? '✓' : '✗'} ${shown(event.text)}`;
    default:
      return '';
  }
}

/** How far a transcript was read, and where some of its lines begin. */
interface TranscriptIndex {
  lines: number;
  bytes: number;
  /** The number of a line, and the byte at which its event begins. */
  readonly marks: { readonly line: number; readonly byte: number }[];
}

/** Indexes of transcripts that were read lately, by path. */
const indexes = new Map<string, TranscriptIndex>();
const MAX_INDEXES = 32;
const BYTES_PER_MARK = 256 * 1024;
const LINES_PER_READ = 2000;

/** The transcripts of a subtask as logs: each event is one line or several. */
export function transcriptLog(project: string, feature: string, seq: string): LogSource {
  const pathOf = (attempt: number) => join(project, transcriptPath(feature, seq, attempt));
  return {
    name: `Subtask ${seq} of ${feature}`,
    attempts: async () => transcribedAttempts(project, feature, seq),
    extent: async (attempt) => ({ firstLine: 0, endLine: (await indexOf(pathOf(attempt))).lines }),
    read: async (attempt, fromLine) => {
      const path = pathOf(attempt);
      const { marks, lines: known } = await indexOf(path);
      const mark = marks.findLast(({ line }) => line <= fromLine) ?? { line: 0, byte: 0 };
      const lines: OutputLine[] = [];
      let at = mark.line;
      for await (const { text } of eventLines(path, mark.byte)) {
        const event = parsedLine(text);
        for (const one of event === undefined ? [] : linesOf(event)) {
          if (at >= fromLine && at < known) lines.push(one);
          at++;
        }
        if (lines.length >= LINES_PER_READ || at >= known) break;
      }
      return lines.length === 0 ? undefined : { firstLine: fromLine, lines };
    },
  };
}

/** Reads what was written since the last time. */
async function indexOf(path: string): Promise<TranscriptIndex> {
  const index = indexes.get(path) ?? { lines: 0, bytes: 0, marks: [] };
  indexes.delete(path);
  indexes.set(path, index);
  for (const [oldest] of indexes) {
    if (indexes.size <= MAX_INDEXES) break;
    indexes.delete(oldest);
  }
  for await (const { text, byte, end } of eventLines(path, index.bytes)) {
    // Another reader may have been here meanwhile.
    if (byte < index.bytes) continue;
    if (byte >= (index.marks.at(-1)?.byte ?? -BYTES_PER_MARK) + BYTES_PER_MARK)
      index.marks.push({ line: index.lines, byte });
    const event = parsedLine(text);
    index.lines += event === undefined ? 0 : linesOf(event).length;
    index.bytes = end;
  }
  return index;
}

/** The whole lines of a file from a byte on, which must be the start of one. */
async function* eventLines(
  path: string,
  from: number,
): AsyncGenerator<{ readonly text: string; readonly byte: number; readonly end: number }, void, undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) return;
    const buffer = Buffer.alloc(CHUNK_BYTES);
    let rest = Buffer.alloc(0);
    for (let byte = from; ; ) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, byte + rest.length);
      if (bytesRead === 0) return;
      const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      let start = 0;
      for (let end = bytes.indexOf(10) + 1; end > 0; end = bytes.indexOf(10, start) + 1) {
        yield { text: bytes.toString('utf8', start, end - 1), byte: byte + start, end: byte + end };
        start = end;
      }
      rest = Buffer.from(bytes.subarray(start));
      byte += start;
      // No line of ours is longer than what its texts may have; the rest of a longer one is not ours.
      if (rest.length > MAX_BYTES) return;
    }
  } finally {
    await file.close();
  }
}

function linesOf(event: TranscriptLine): OutputLine[] {
  const at = Date.parse(event.at);
  const stream = event.type === 'stderr' ? 'stderr' : 'log';
  // The stream says already that it is an error.
  const text = stream === 'stderr' ? eventText(event).slice(2) : eventText(event);
  const lines = text.split('\n');
  return lines.map((text) => ({ at: Number.isNaN(at) ? 0 : at, stream, text }));
}
