/** A value of a JSON text with comments, and where it stands. */
export interface JsoncNode {
  readonly start: number;
  readonly end: number;
  readonly value: unknown;
  /** Of an object, in order. */
  readonly members?: readonly JsoncMember[];
}

export interface JsoncMember {
  readonly key: string;
  readonly keyStart: number;
  readonly node: JsoncNode;
  /** Where the comma after it stands, if there is one. */
  readonly comma: number | undefined;
}

const WORD = /[^\s,\]}:/]+/y;
const STRING = /"(?:[^"\\\n\r]|\\.)*"/y;
const DEEPEST = 200;

/** Reads JSON with comments and commas at the end, or throws a SyntaxError that names the line. */
export function parseJsonc(text: string): JsoncNode {
  const reader = new Reader(text);
  const node = reader.value(0);
  reader.skip();
  if (reader.at < text.length) reader.fail('something follows the end');
  return node;
}

class Reader {
  at: number;

  constructor(private readonly text: string) {
    this.at = text.startsWith('\uFEFF') ? 1 : 0;
  }

  value(depth: number): JsoncNode {
    if (depth > DEEPEST) this.fail('it is nested too deeply');
    this.skip();
    switch (this.text[this.at]) {
      case '{':
        return this.object(depth);
      case '[':
        return this.list(depth);
      case '"':
        return this.token(STRING);
      default:
        return this.token(WORD);
    }
  }

  /** Passes over spaces and comments. */
  skip(): void {
    const { text } = this;
    for (;;) {
      while (/\s/.test(text[this.at] ?? 'x')) this.at++;
      if (text.startsWith('//', this.at)) {
        const end = text.indexOf('\n', this.at);
        this.at = end === -1 ? text.length : end;
      } else if (text.startsWith('/*', this.at)) {
        const end = text.indexOf('*/', this.at + 2);
        if (end === -1) this.fail('a comment does not end');
        this.at = end + 2;
      } else return;
    }
  }

  fail(problem: string): never {
    throw new SyntaxError(`line ${this.text.slice(0, this.at).split('\n').length}: ${problem}`);
  }

  private object(depth: number): JsoncNode {
    const start = this.at++;
    const members: JsoncMember[] = [];
    const value: Record<string, unknown> = {};
    while (!this.closes('}')) {
      const keyStart = this.at;
      if (this.text[keyStart] !== '"') this.fail('a name in quotes is missing');
      const key = this.token(STRING).value as string;
      this.skip();
      if (this.text[this.at] !== ':') this.fail('a colon is missing');
      this.at++;
      const node = this.value(depth + 1);
      members.push({ key, keyStart, node, comma: this.comma('}') });
      Object.defineProperty(value, key, {
        value: node.value,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return { start, end: this.at, value, members };
  }

  private list(depth: number): JsoncNode {
    const start = this.at++;
    const value: unknown[] = [];
    while (!this.closes(']')) {
      value.push(this.value(depth + 1).value);
      this.comma(']');
    }
    return { start, end: this.at, value };
  }

  private closes(bracket: string): boolean {
    this.skip();
    if (this.text[this.at] !== bracket) return false;
    this.at++;
    return true;
  }

  private comma(bracket: string): number | undefined {
    this.skip();
    if (this.text[this.at] === ',') return this.at++;
    if (this.text[this.at] !== bracket) this.fail(`a comma or ${bracket} is missing`);
    return undefined;
  }

  private token(pattern: RegExp): JsoncNode {
    const start = this.at;
    pattern.lastIndex = start;
    const [token] = pattern.exec(this.text) ?? [];
    if (token === undefined) this.fail('a value is missing');
    try {
      const value: unknown = JSON.parse(token);
      this.at += token.length;
      return { start, end: this.at, value };
    } catch {
      return this.fail(`${token.slice(0, 40)} is no value`);
    }
  }
}
