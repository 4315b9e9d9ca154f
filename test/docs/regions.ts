import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, read } from './markdown.ts';

const EXAMPLES = 'examples/docs';

export function exampleFiles(): string[] {
  return readdirSync(join(ROOT, EXAMPLES)).map((name) => `${EXAMPLES}/${name}`);
}

/** The regions of an example by name, each without the indentation of its place. */
export function regionsOf(file: string): Map<string, string> {
  const matches = read(file).matchAll(/^ *\/\/ #region (\S+)\n([\s\S]*?)^ *\/\/ #endregion \1$/gm);
  return new Map([...matches].map((match) => [match[1]!, withoutIndentation(match[2]!)]));
}

function withoutIndentation(text: string): string {
  const depth = Math.min(
    ...text
      .split('\n')
      .filter(Boolean)
      .map((line) => line.search(/\S/)),
  );
  return text.replaceAll(new RegExp(`^ {${depth}}`, 'gm'), '');
}
