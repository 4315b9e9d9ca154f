import type { FileHandle } from 'node:fs/promises';
import { z } from 'zod';

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Decodes bytes as text; undefined if they are not UTF-8, or contain NULs as binary files do. */
export function decodeText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Whether a byte continues a UTF-8 character. */
export function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** A matching line. */
export const TEXT_MATCH = z.object({
  path: z.string(),
  line: z.number().describe('Counted from 1.'),
  text: z.string(),
  before: z.array(z.string()).exactOptional().describe('The lines around it, if requested.'),
  after: z.array(z.string()).exactOptional(),
});

export type TextMatch = z.infer<typeof TEXT_MATCH>;

/** The size of one read, which is searched without a pause, so it is small. */
const CHUNK_BYTES = 16 * 1024;
/** Longer lines are searched in pieces. */
const MAX_LINE_LENGTH = 16 * 1024;
/** The most characters of a line that are shown. */
const MAX_SHOWN_LENGTH = 500;
/** The most bytes a whole search reads. */
const MAX_BYTES_READ = 256 * 2 ** 20;

/** Searches files line by line, one after another, with limits on all of them together. */
export class TextSearch {
  readonly matches: TextMatch[] = [];
  searched = 0;
  /** Whether a limit stopped it before it found everything. */
  isCut = false;
  private readBytes = 0;
  private shownCharacters = 0;
  private readonly chunk = Buffer.allocUnsafe(CHUNK_BYTES);

  constructor(
    private readonly holds: (line: string) => boolean,
    private readonly context: number,
    private readonly limits: { readonly maxEntries: number; readonly maxBytes: number },
  ) {}

  async search(
    handle: FileHandle,
    path: string,
    signal: AbortSignal,
  ): Promise<'found' | 'nothing' | 'skipped'> {
    const first = this.matches.length;
    const file = new FileLines(this.context, (line, number, around) => {
      if (this.isCut || !this.holds(line)) return;
      this.isCut =
        this.matches.length >= this.limits.maxEntries || this.shownCharacters >= this.limits.maxBytes;
      if (this.isCut) return;
      const text = shown(line);
      this.shownCharacters += text.length * (1 + 2 * this.context);
      this.matches.push({ path, line: number, text, ...around() });
    });
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    while (!this.isCut) {
      signal.throwIfAborted();
      const { bytesRead } = await handle.read(this.chunk, 0, CHUNK_BYTES, null);
      if (bytesRead === 0) break;
      this.readBytes += bytesRead;
      this.isCut = this.readBytes > MAX_BYTES_READ;
      const bytes = this.chunk.subarray(0, bytesRead);
      if (bytes.includes(0)) {
        this.matches.length = first;
        return 'skipped';
      }
      file.add(decoder.decode(bytes, { stream: true }));
    }
    file.end(decoder.decode());
    this.searched++;
    return this.matches.length > first ? 'found' : 'nothing';
  }
}

type Around = { before?: string[]; after?: string[] };

/** Splits text that comes in pieces into lines, and keeps the lines around each match. */
class FileLines {
  private rest = '';
  private number = 1;
  private readonly before: string[] = [];
  /** Lists that still need lines after their match. */
  private open: string[][] = [];

  constructor(
    private readonly context: number,
    private readonly visit: (line: string, number: number, around: () => Around) => void,
  ) {}

  add(text: string): void {
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop()!;
    for (const line of lines) this.line(line);
    if (this.rest.length >= MAX_LINE_LENGTH) {
      this.visit(this.rest, this.number, () => this.around());
      this.rest = '';
    }
  }

  end(text: string): void {
    this.add(text);
    if (this.rest !== '') this.line(this.rest);
  }

  private line(line: string): void {
    const text = line.endsWith('\r') ? line.slice(0, -1) : line;
    if (this.context > 0) {
      for (const list of this.open) list.push(shown(text));
      this.open = this.open.filter((list) => list.length < this.context);
    }
    this.visit(text, this.number, () => this.around());
    this.number++;
    if (this.context === 0) return;
    this.before.push(shown(text));
    if (this.before.length > this.context) this.before.shift();
  }

  private around(): Around {
    if (this.context === 0) return {};
    const after: string[] = [];
    this.open.push(after);
    return { before: [...this.before], after };
  }
}

function shown(line: string): string {
  return line.length > MAX_SHOWN_LENGTH ? `${line.slice(0, MAX_SHOWN_LENGTH)}…` : line;
}
