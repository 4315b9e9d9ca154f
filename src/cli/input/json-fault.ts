/** Where and why a text is not JSON. */
export interface JsonFault {
  /** In UTF-16 units from the start. */
  readonly offset: number;
  readonly what: string;
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /[A-Za-z_$][\w$]*/y;
const SPACE = /[ \t\r\n]*/y;
const SIMPLE = new Set(['true', 'false', 'null']);

/**
 * The first fault of a text that JSON.parse refused. Its own messages differ between versions of Node and often do not
 * say where.
 */
export function findJsonFault(text: string): JsonFault {
  return new JsonReader(text).read() ?? { offset: text.length, what: 'it cannot be read' };
}

/** What may come next: a stack of open lists and objects instead of recursion, so that depth does no harm. */
class JsonReader {
  private at = 0;
  private readonly open: ('[' | '{')[] = [];

  constructor(private readonly text: string) {}

  read(): JsonFault | undefined {
    for (;;) {
      const fault = this.value();
      if (fault !== undefined) return fault;
      const end = this.behindValue();
      if (end !== undefined) return end === 'done' ? undefined : end;
    }
  }

  /** Reads a value, or the beginning of a list or an object up to its first value. */
  private value(): JsonFault | undefined {
    for (;;) {
      this.skip(SPACE);
      const first = this.text[this.at];
      if (first === '[') {
        this.at++;
        this.open.push('[');
        this.skip(SPACE);
        if (this.text[this.at] === ']') return this.close();
      } else if (first === '{') {
        this.at++;
        this.open.push('{');
        this.skip(SPACE);
        if (this.text[this.at] === '}') return this.close();
        const fault = this.key();
        if (fault !== undefined) return fault;
      } else {
        return this.simpleValue(first);
      }
    }
  }

  private simpleValue(first: string | undefined): JsonFault | undefined {
    if (first === '"') return this.string();
    if (first === undefined) return this.fault(this.openText('a value is missing'));
    if (this.skip(NUMBER) > 0) return undefined;
    const start = this.at;
    if (this.skip(WORD) > 0) {
      const word = this.text.slice(start, this.at);
      if (SIMPLE.has(word)) return undefined;
      return { offset: start, what: `${word} is no value of JSON: a text stands in double quotes` };
    }
    return this.fault(oddText(first) ?? `a value is missing before ${JSON.stringify(first)}`);
  }

  /** Reads what follows a value: up to the next one, or to the end. */
  private behindValue(): JsonFault | 'done' | undefined {
    for (;;) {
      this.skip(SPACE);
      const next = this.text[this.at];
      const inside = this.open.at(-1);
      if (inside === undefined) {
        return next === undefined ? 'done' : this.fault(oddText(next) ?? 'something follows behind the end');
      }
      const closing = inside === '[' ? ']' : '}';
      if (next === closing) {
        this.close();
        continue;
      }
      if (next !== ',') {
        if (next === undefined) return this.fault(this.openText(`"${closing}" is missing`));
        return this.fault(oddText(next) ?? `"," or "${closing}" is missing before ${JSON.stringify(next)}`);
      }
      const comma = this.at++;
      this.skip(SPACE);
      if (this.text[this.at] === closing) {
        return { offset: comma, what: `a comma may not stand before "${closing}"` };
      }
      return inside === '{' ? this.key() : undefined;
    }
  }

  private key(): JsonFault | undefined {
    this.skip(SPACE);
    const first = this.text[this.at];
    if (first !== '"') {
      if (first === undefined) return this.fault(this.openText('"}" is missing'));
      return this.fault(oddText(first) ?? 'a key in double quotes is missing');
    }
    const fault = this.string();
    if (fault !== undefined) return fault;
    this.skip(SPACE);
    if (this.text[this.at] !== ':') return this.fault('":" is missing behind the key');
    this.at++;
    return undefined;
  }

  private string(): JsonFault | undefined {
    const start = this.at++;
    for (; this.at < this.text.length; this.at++) {
      const character = this.text[this.at]!;
      if (character === '"') {
        this.at++;
        return undefined;
      }
      if (character < ' ') {
        if (character !== '\n' && character !== '\r') {
          return this.fault(
            `a text may not hold the control character ${JSON.stringify(character)} as it is`,
          );
        }
        return { offset: start, what: 'the text is not closed on its line (a line break is written \\n)' };
      }
      if (character !== '\\') continue;
      const sequence = /^(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/.exec(this.text.slice(this.at + 1, this.at + 6));
      if (sequence === null) return this.fault('this is no escape of JSON (a backslash is written \\\\)');
      this.at += sequence[0].length;
    }
    return { offset: start, what: 'the text is not closed' };
  }

  private close(): undefined {
    this.open.pop();
    this.at++;
  }

  private skip(pattern: RegExp): number {
    pattern.lastIndex = this.at;
    const length = pattern.exec(this.text)?.[0].length ?? 0;
    this.at += length;
    return length;
  }

  private fault(what: string): JsonFault {
    return { offset: this.at, what };
  }

  private openText(what: string): string {
    return this.open.length === 0 ? what : `it ends too early, ${what}`;
  }
}

/** What people often write that JSON does not have. */
function oddText(character: string): string | undefined {
  if (character === '/' || character === '#') return 'JSON has no comments';
  return character === "'" ? 'a text stands in double quotes, not in single ones' : undefined;
}
