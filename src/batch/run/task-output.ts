import { StringDecoder } from 'node:string_decoder';
import type { Redactor } from '../../coordinator/redaction/redactor.ts';
import { printableText } from '../../core/printable-text.ts';
import type { OutputChunk, OutputLine, OutputStreamName } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';

/** How long output is gathered before it is stored. */
const FLUSH_MS = 200;
/** As soon as this much is gathered, it is stored. */
const BLOCK_CHARACTERS = 64 * 1024;
/** What is gathered and not stored yet, of all attempts of a run. More is dropped: it comes faster than it can be stored. */
const MAX_PENDING = 8 * 2 ** 20;
/** The most of one report or message that is taken. */
const MAX_CHUNK = 2 ** 20;
/** The rest of a longer line is left out. */
const MAX_LINE = 64 * 1024;
/** How far beyond its end a long line is searched for secrets, so that none is cut in half and half shown. */
const MARGIN = 8192;
/** Of the limit, how much is written before the store is trimmed again. */
const TRIM_SHARE = 16;

interface OutputLimits {
  readonly logMb: number;
  readonly taskLogMb: number;
}

/**
 * Stores what the attempts of a run print: in whole lines, without secrets and control characters. Nothing is created
 * for an attempt that prints nothing. Output is no reason to fail the work: if it cannot be stored, it is dropped.
 */
export class RunOutput {
  private readonly dirty = new Set<AttemptOutput>();
  private timer: NodeJS.Timeout | undefined;
  /** Characters gathered and not stored yet. */
  pending = 0;
  private sinceTrim = 0;
  private hasWritten = false;

  constructor(
    private readonly store: Pick<Store, 'addOutput' | 'trimOutput'>,
    private readonly batch: string,
    readonly redactor: Pick<Redactor, 'whole'>,
    private readonly limits: OutputLimits,
  ) {}

  get isFull(): boolean {
    return this.pending >= MAX_PENDING;
  }

  open(seq: number, attempt: number): AttemptOutput {
    return new AttemptOutput(this, seq, attempt);
  }

  /** Something was gathered, to be stored soon. */
  gathered(output: AttemptOutput, isMuch: boolean): void {
    this.dirty.add(output);
    if (isMuch) this.flush(output);
    else this.timer ??= setTimeout(this.flushAll, FLUSH_MS).unref();
  }

  /** Stores what an attempt has printed so far. Later writes to the store come after it. */
  flush(output: AttemptOutput): void {
    if (!this.dirty.delete(output)) return;
    const chunk = output.take();
    if (chunk === undefined) return;
    const size = chunk.lines.reduce((sum, { text }) => sum + text.length, 0);
    this.pending += size;
    this.hasWritten = true;
    this.store
      .addOutput(this.batch, [chunk], this.limits.taskLogMb * 2 ** 20)
      .catch(() => undefined)
      .finally(() => {
        this.pending -= size;
      });
    this.sinceTrim += size;
    if (this.sinceTrim >= (this.limits.logMb * 2 ** 20) / TRIM_SHARE) void this.trim();
  }

  /** Call it when the run has ended. */
  async close(): Promise<void> {
    clearTimeout(this.timer);
    this.flushAll();
    if (this.hasWritten) await this.trim();
  }

  private readonly flushAll = (): void => {
    this.timer = undefined;
    for (const output of [...this.dirty]) this.flush(output);
  };

  private async trim(): Promise<void> {
    this.sinceTrim = 0;
    await this.store.trimOutput(this.limits.logMb * 2 ** 20).catch(() => undefined);
  }
}

/** Text of one stream. */
interface Piece {
  readonly at: number;
  readonly stream: OutputStreamName;
  text: string;
}

/** What is kept for a stream between two blocks. */
class StreamState {
  readonly decoder = new StringDecoder('utf8');
  /** A line without its end. */
  rest = '';
  /** Whether the last line was inside of a private key. */
  isInKey = false;
}

/** The output of one attempt. */
export class AttemptOutput {
  private readonly streams = new Map<OutputStreamName, StreamState>();
  private pieces: Piece[] = [];
  private size = 0;
  private nextLine = 0;
  private dropped = 0;
  private isClosed = false;

  constructor(
    private readonly run: RunOutput,
    private readonly seq: number,
    private readonly attempt: number,
  ) {}

  write(stream: OutputStreamName, chunk: Uint8Array | string): void {
    if (this.isClosed) return;
    if (this.run.isFull) {
      this.dropped += chunk.length;
      // Its log says so.
      this.run.gathered(this, false);
      return;
    }
    const state = this.stateOf(stream);
    if (chunk.length > MAX_CHUNK) {
      this.dropped += chunk.length - MAX_CHUNK;
      chunk = chunk.slice(0, MAX_CHUNK);
    }
    this.add(stream, state, typeof chunk === 'string' ? chunk : state.decoder.write(chunk as Buffer));
  }

  /** Stores the rest. What an abandoned function prints later is ignored. */
  close(): void {
    if (this.isClosed) return;
    for (const [stream, state] of this.streams) {
      this.add(stream, state, state.decoder.end());
      if (state.rest !== '') this.add(stream, state, '\n');
    }
    this.isClosed = true;
    this.run.flush(this);
  }

  /** The lines gathered so far. */
  take(): OutputChunk | undefined {
    const lines = this.pieces.flatMap((piece) => this.linesOf(piece));
    this.run.pending -= this.size;
    this.pieces = [];
    this.size = 0;
    if (this.dropped > 0) {
      const text = `… (${this.dropped} bytes are left out here: too much came at once)`;
      lines.push({ at: Date.now(), stream: 'log', text });
      this.dropped = 0;
    }
    if (lines.length === 0) return undefined;
    const firstLine = this.nextLine;
    this.nextLine += lines.length;
    return { seq: this.seq, attempt: this.attempt, firstLine, lines };
  }

  /** Gathers the lines of a string that have ended. */
  private add(stream: OutputStreamName, state: StreamState, text: string): void {
    const end = text.lastIndexOf('\n') + 1;
    if (end > 0) {
      this.push(stream, state.rest + text.slice(0, end));
      state.rest = '';
    }
    // What is beyond the margin would not be shown.
    state.rest = (state.rest + text.slice(end)).slice(0, MAX_LINE + MARGIN);
    if (this.pieces.length > 0 || this.dropped > 0) this.run.gathered(this, this.size >= BLOCK_CHARACTERS);
  }

  /** Neighbors of one stream are one piece, so that a secret on several lines is found. */
  private push(stream: OutputStreamName, text: string): void {
    const last = this.pieces.at(-1);
    if (last?.stream === stream && last.text.length < BLOCK_CHARACTERS) last.text += text;
    else this.pieces.push({ at: Date.now(), stream, text });
    this.size += text.length;
    this.run.pending += text.length;
  }

  private linesOf({ at, stream, text }: Piece): OutputLine[] {
    const state = this.stateOf(stream);
    const printable = printableText(text.slice(0, -1));
    const keyEnd = state.isInKey ? KEY_END.exec(printable) : undefined;
    if (keyEnd === null) return [];
    const rest = keyEnd === undefined ? printable : printable.slice(keyEnd.index + keyEnd[0].length);
    state.isInKey = hasOpenKey(rest);
    const shown = this.run.redactor.whole(rest);
    return shown.split('\n').map((line) => ({ at, stream, text: cut(line) }));
  }

  private stateOf(stream: OutputStreamName): StreamState {
    let state = this.streams.get(stream);
    if (state === undefined) {
      state = new StreamState();
      this.streams.set(stream, state);
    }
    return state;
  }
}

const KEY_BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/g;
const KEY_END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY[^\n]*/;

/** Whether a private key begins here that ends in a later block. */
function hasOpenKey(text: string): boolean {
  const begin = [...text.matchAll(KEY_BEGIN)].at(-1)?.index;
  return begin !== undefined && !KEY_END.test(text.slice(begin));
}

function cut(line: string): string {
  return line.length <= MAX_LINE ? line : `${line.slice(0, MAX_LINE)}… (the rest of this line is left out)`;
}
