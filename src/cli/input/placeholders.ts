import { posix } from 'node:path';
import { nearest } from '../../core/nearest.ts';
import { templateError } from './find-files.ts';

/** What a template can say of a file. `{}` is its path; `{dir}/{name}{ext}` is the same path again. */
const PLACEHOLDERS: Readonly<Record<string, (path: string, index: number) => string>> = {
  '': (path) => path,
  name: (path) => posix.basename(path, posix.extname(path)),
  dir: (path) => posix.dirname(path),
  ext: (path) => posix.extname(path),
  index: (_path, index) => String(index),
};
const COUNTER = 'index';

/** A text with places for a file: `{}`, `{name}`, `{dir}`, `{ext}`, `{index}`; `{{` and `}}` are braces. */
export class TextTemplate {
  /** Texts at even places, names of placeholders at odd ones. */
  private readonly parts: readonly string[];

  constructor(text: string, where: string) {
    this.parts = split(text, where);
  }

  /** Whether different files give different texts. */
  get namesTheFile(): boolean {
    return this.parts.some((part, place) => place % 2 === 1 && part !== 'ext');
  }

  fill(path: string, index: number): string {
    return this.parts
      .map((part, place) => (place % 2 === 0 ? part : PLACEHOLDERS[part]!(path, index)))
      .join('');
  }

  /** As a value of JSON: nothing but `{index}` is a number. */
  fillValue(path: string, index: number): string | number {
    const isCounter = this.parts.length === 3 && this.parts.join('') === COUNTER && this.parts[1] === COUNTER;
    return isCounter ? index : this.fill(path, index);
  }
}

function split(text: string, where: string): string[] {
  const parts = [''];
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if ((character === '{' || character === '}') && text[at + 1] === character) {
      parts[parts.length - 1] += character;
      at++;
    } else if (character === '{') {
      const end = text.indexOf('}', at);
      const name = end < 0 ? undefined : text.slice(at + 1, end);
      if (name === undefined || !Object.hasOwn(PLACEHOLDERS, name)) throw unknown(text, at, name, where);
      parts.push(name, '');
      at = end;
    } else {
      parts[parts.length - 1] += character;
    }
  }
  return parts;
}

function unknown(text: string, at: number, name: string | undefined, where: string) {
  const known = Object.keys(PLACEHOLDERS);
  const meant = name === undefined ? undefined : nearest(name, known);
  const hint = meant === undefined ? 'write "{{" for a brace' : `did you mean "{${meant}}"?`;
  const shown = name === undefined || name.length > 40 ? `${text.slice(at, at + 20)}…` : `{${name}}`;
  const list = known.map((one) => `{${one}}`).join(', ');
  return templateError(
    `${where}: ${JSON.stringify(shown)} is no placeholder (${list}): ${hint}.`.replace('?.', '?'),
    {
      placeholder: shown,
    },
  );
}
