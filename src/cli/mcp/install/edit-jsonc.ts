import { type JsoncMember, type JsoncNode, parseJsonc } from './jsonc-tree.ts';

/** Sets one value in a JSON text with comments, and changes nothing else of the text. */
export function setInJsonc(text: string, path: readonly string[], value: unknown): string {
  let node = parseJsonc(text);
  for (const [depth, key] of path.entries()) {
    if (node.members === undefined) {
      throw new SyntaxError(`${path.slice(0, depth).join('.') || 'the file'} is no object`);
    }
    const member = node.members.findLast((one) => one.key === key);
    if (member === undefined) {
      const rest = path.slice(depth + 1).reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
      return insert(text, node, node.members, key, rest);
    }
    node = member.node;
  }
  const indent = indentAt(text, node.start);
  return splice(text, node.start, node.end, format(value, indent, text));
}

function insert(
  text: string,
  object: JsoncNode,
  members: readonly JsoncMember[],
  key: string,
  value: unknown,
): string {
  const last = members.at(-1);
  if (last === undefined) return intoEmpty(text, object, key, value);
  const [first] = members;
  if (!text.slice(object.start, first!.keyStart).includes('\n')) {
    // All in one line: it stays so.
    const at = (last.comma ?? last.node.end - 1) + 1;
    return splice(
      text,
      at,
      at,
      `${last.comma === undefined ? ',' : ''} ${JSON.stringify(key)}: ${JSON.stringify(value)}`,
    );
  }
  const indent = indentAt(text, last.keyStart);
  const member = `${eolOf(text)}${indent}${JSON.stringify(key)}: ${format(value, indent, text)}`;
  const at = endOfLine(text, (last.comma ?? last.node.end - 1) + 1, object.end - 1);
  // The style of the file decides whether the last one has a comma.
  const withMember = splice(text, at, at, last.comma === undefined ? member : `${member},`);
  return last.comma === undefined ? splice(withMember, last.node.end, last.node.end, ',') : withMember;
}

function intoEmpty(text: string, object: JsoncNode, key: string, value: unknown): string {
  const outer = indentAt(text, object.start);
  const indent = outer + unitOf(text);
  const inside = text.slice(object.start + 1, object.end - 1).trimEnd();
  const eol = eolOf(text);
  const member = `${inside}${eol}${indent}${JSON.stringify(key)}: ${format(value, indent, text)}${eol}${outer}`;
  return splice(text, object.start + 1, object.end - 1, member);
}

/** Behind a comment that stands in the same line, so that it stays where it belongs. */
function endOfLine(text: string, from: number, limit: number): number {
  const [comment = ''] =
    /^[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/[ \t]*(?=\r?\n))/.exec(text.slice(from, limit)) ?? [];
  return from + comment.length;
}

function format(value: unknown, indent: string, text: string): string {
  return JSON.stringify(value, null, unitOf(text)).replaceAll('\n', `${eolOf(text)}${indent}`);
}

/** The spaces at the beginning of the line. */
function indentAt(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf('\n', at - 1) + 1, at);
  return /^[ \t]*/.exec(line)![0];
}

/** What one level of indentation is. */
function unitOf(text: string): string {
  return /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
}

function eolOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}

function splice(text: string, start: number, end: number, inserted: string): string {
  return text.slice(0, start) + inserted + text.slice(end);
}
