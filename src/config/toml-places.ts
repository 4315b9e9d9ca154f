import { type AST, parseTOML } from 'toml-eslint-parser';
import type { FilePlace } from './problems.ts';

type Path = readonly PropertyKey[];

/** The positions of a key and its value; a table has no value, but the key of its header. */
interface Entry {
  readonly key?: AST.SourceLocation;
  readonly value?: AST.SourceLocation;
}

/** The positions of everything in a TOML document. */
export class TomlPlaces {
  private readonly entries = new Map<string, Entry>();

  constructor(private readonly text: string) {
    const [top] = parseTOML(text).body;
    for (const item of top.body) {
      if (item.type === 'TOMLTable') this.addTable(item);
      else this.addKeyValue([], item);
    }
  }

  /** The position of a key or its value; if it is missing, of the innermost existing table. */
  find(path: Path, part: 'key' | 'value'): FilePlace | undefined {
    for (let length = path.length; length > 0; length--) {
      const entry = this.entries.get(idOf(path.slice(0, length)));
      if (entry === undefined) continue;
      const isWhole = length === path.length && part === 'value';
      return this.toPlace((isWhole ? entry.value : entry.key) ?? entry.key ?? entry.value!);
    }
    return undefined;
  }

  has(path: Path): boolean {
    return this.entries.has(idOf(path));
  }

  private addTable({ key, resolvedKey, body }: AST.TOMLTable): void {
    let depth = 0;
    for (const name of key.keys) {
      depth += 1;
      this.add(resolvedKey.slice(0, depth), { key: name.loc });
      // A number after the name is an index in an array of tables: this is that entry's header.
      if (typeof resolvedKey[depth] === 'number') {
        depth += 1;
        this.add(resolvedKey.slice(0, depth), { key: name.loc });
      }
    }
    for (const item of body) this.addKeyValue(resolvedKey, item);
  }

  private addKeyValue(table: Path, { key, value }: AST.TOMLKeyValue): void {
    const path = [...table];
    for (const [index, name] of key.keys.entries()) {
      path.push(name.type === 'TOMLBare' ? name.name : name.value);
      const isLast = index === key.keys.length - 1;
      this.add(path, { key: name.loc, ...(isLast && { value: value.loc }) });
    }
    this.addContent(path, value);
  }

  private addContent(path: Path, value: AST.TOMLContentNode): void {
    if (value.type === 'TOMLInlineTable') {
      for (const item of value.body) this.addKeyValue(path, item);
    } else if (value.type === 'TOMLArray') {
      for (const [index, element] of value.elements.entries()) {
        this.add([...path, index], { value: element.loc });
        this.addContent([...path, index], element);
      }
    }
  }

  /** The first occurrence counts: a table may be reopened by a dotted key or a later header. */
  private add(path: Path, entry: Entry): void {
    const id = idOf(path);
    if (!this.entries.has(id)) this.entries.set(id, entry);
  }

  private toPlace({ start, end }: AST.SourceLocation): FilePlace {
    const line = this.text.split(/\r?\n/, start.line)[start.line - 1] ?? '';
    const last = end.line === start.line ? end.column : line.length;
    return { line: start.line, column: start.column + 1, length: Math.max(1, last - start.column) };
  }
}

function idOf(path: Path): string {
  return JSON.stringify(path);
}
