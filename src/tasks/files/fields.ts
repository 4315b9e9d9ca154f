import { oneLine } from '../../batch/text.ts';
import { nearest } from '../../core/nearest.ts';
import type { FileReference } from '../feature.ts';
import type { Problem, ProblemCode } from '../problem.ts';

const LONGEST_SHOWN = 60;

/** Reads the fields of a file that others write: what is missing is left out, what is wrong is noted and left out. */
export class Fields {
  constructor(
    private readonly data: Readonly<Record<string, unknown>>,
    private readonly file: string,
    private readonly problems: Problem[],
  ) {}

  note(code: ProblemCode, text: string, remedy: string): void {
    this.problems.push({ code, severity: 'error', file: this.file, text, remedy });
  }

  has(key: string): boolean {
    return this.raw(key) !== undefined;
  }

  /** Missing and `null` are the same. */
  raw(key: string): unknown {
    return (Object.hasOwn(this.data, key) ? this.data[key] : undefined) ?? undefined;
  }

  text(key: string): string | undefined {
    const value = this.raw(key);
    if (value === undefined || typeof value === 'string') return value;
    if (typeof value === 'number') return String(value);
    this.wrong(key, 'a text');
    return undefined;
  }

  flag(key: string): boolean | undefined {
    const value = this.raw(key);
    if (value === undefined || typeof value === 'boolean') return value;
    this.wrong(key, 'true or false');
    return undefined;
  }

  count(key: string): number | undefined {
    const value = this.raw(key);
    if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value;
    this.wrong(key, 'a number');
    return undefined;
  }

  time(key: string): number | undefined {
    const value = this.text(key);
    if (value === undefined || value === '') return undefined;
    const ms = Date.parse(value);
    if (!Number.isNaN(ms)) return ms;
    this.wrong(key, 'a time such as "2026-02-03T10:00:00Z"');
    return undefined;
  }

  /** A list of texts; a single text is a list of one. */
  texts(key: string): string[] {
    return this.items(key, 'a list of texts').flatMap((item) => {
      if (typeof item === 'string' || typeof item === 'number') return [String(item)];
      this.wrong(key, 'a list of texts');
      return [];
    });
  }

  items(key: string, what: string): readonly unknown[] {
    const value = this.raw(key);
    if (value === undefined) return [];
    if (Array.isArray(value)) return value;
    if (typeof value === 'string' || typeof value === 'number') return [value];
    this.wrong(key, what);
    return [];
  }

  references(key: string): FileReference[] {
    const what = 'a list of paths, or of objects with "path", "lines" and "reason"';
    return this.items(key, what).flatMap((item) => {
      if (typeof item === 'string') return [{ path: item, lines: undefined, reason: undefined }];
      const { path, lines, reason } = (item ?? {}) as Record<string, unknown>;
      if (typeof path === 'string') return [{ path, lines: textIfAny(lines), reason: textIfAny(reason) }];
      this.wrong(key, what);
      return [];
    });
  }

  /** One of some words; what it counts as if it is another. */
  word<W extends string>(key: string, words: readonly W[], missing: W, wrong: W): W {
    const value = this.text(key);
    if (value === undefined) return missing;
    if ((words as readonly string[]).includes(value)) return value as W;
    const close = nearest(value, words);
    this.note(
      'status',
      `"${key}" is ${shown(value)}, which counts as "${wrong}" until it is mended.`,
      `Write ${close === undefined ? `one of ${words.join(', ')}` : `"${close}" (one of ${words.join(', ')})`}.`,
    );
    return wrong;
  }

  private wrong(key: string, what: string): void {
    const text = `"${key}" is ${shown(this.raw(key))}.`;
    // A list with several wrong items is one problem.
    if (this.problems.some((one) => one.file === this.file && one.text === text)) return;
    this.note('wrong-type', text, `Make it ${what}.`);
  }
}

function textIfAny(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function shown(value: unknown): string {
  return oneLine(JSON.stringify(value) ?? String(value), LONGEST_SHOWN);
}
