import { stringify } from 'smol-toml';
import { type AST, parseTOML } from 'toml-eslint-parser';

/** Sets values of a table in a TOML text, and changes nothing else of the text. */
export function setInToml(
  text: string,
  path: readonly string[],
  entry: Readonly<Record<string, unknown>>,
): string {
  const table = tableAt(text, path);
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  if (table === undefined) return append(text, path, entry, eol);
  let edited = text;
  const missing = Object.entries(entry).filter(([key]) => valueAt(table, key) === undefined);
  const last = table.body.at(-1) ?? table.key;
  const lineEnd = endOfLine(text, table.body.length > 0 ? last.range[1] : table.range[1]);
  const edits: [number, number, string][] =
    missing.length > 0 ? [[lineEnd, lineEnd, linesOf(missing, eol)]] : [];
  for (const [key, value] of Object.entries(entry)) {
    const place = valueAt(table, key);
    if (place !== undefined) edits.push([place.range[0], place.range[1], valueText(value)]);
  }
  for (const [start, end, inserted] of edits.sort((a, b) => b[0] - a[0])) {
    edited = edited.slice(0, start) + inserted + edited.slice(end);
  }
  return edited;
}

function append(
  text: string,
  path: readonly string[],
  entry: Readonly<Record<string, unknown>>,
  eol: string,
): string {
  const gap = text.trim() === '' ? '' : text.endsWith('\n') ? eol : `${eol}${eol}`;
  return `${text}${gap}[${path.join('.')}]${linesOf(Object.entries(entry), eol)}${eol}`;
}

function linesOf(entries: readonly (readonly [string, unknown])[], eol: string): string {
  return entries.map(([key, value]) => `${eol}${key} = ${valueText(value)}`).join('');
}

function valueText(value: unknown): string {
  return stringify({ v: value }).replace(/^v = /, '').trimEnd();
}

function tableAt(text: string, path: readonly string[]): AST.TOMLTable | undefined {
  const [top] = parseTOML(text).body;
  return top.body.find(
    (item): item is AST.TOMLTable =>
      item.type === 'TOMLTable' &&
      item.resolvedKey.length === path.length &&
      path.every((key, index) => item.resolvedKey[index] === key),
  );
}

function valueAt(table: AST.TOMLTable, key: string): AST.TOMLContentNode | undefined {
  const found = table.body.find(({ key: { keys } }) => {
    const [only, ...more] = keys;
    return (
      more.length === 0 && only !== undefined && (only.type === 'TOMLBare' ? only.name : only.value) === key
    );
  });
  return found?.value;
}

/** Behind a comment in the same line. */
function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  const at = end === -1 ? text.length : end;
  return text[at - 1] === '\r' ? at - 1 : at;
}
