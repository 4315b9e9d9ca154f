import type { Document, LineCounter, Node, YAMLError, YAMLMap } from 'yaml';
import type { FilePlace } from '../../config/problems.ts';
import { isObject } from '../../core/values.ts';
import { loadYaml, tooDeepAt } from '../../tasks/plan/yaml-depth.ts';
import { type DataPath, MAX_NESTING, type Parsed, TOO_NESTED } from './plain-data.ts';
import { placeAt, type TaskSource, taskFileError } from './source.ts';

/** The parser takes seconds and hundreds of megabytes for this much. */
const MAX_CHARACTERS = 8 * 1024 * 1024;

/** Parses one document. `<<` merges defaults. */
export function parseYamlSource(source: TaskSource): Parsed {
  if (source.text.length > MAX_CHARACTERS) {
    throw taskFileError(source, 'a YAML file may be at most 8 MB. Use JSON Lines for this many tasks.');
  }
  const tooDeep = tooDeepAt(source.text, MAX_NESTING);
  if (tooDeep !== undefined) throw taskFileError(source, `${TOO_NESTED}.`, placeAt(source.text, tooDeep));
  const { LineCounter, parseDocument } = loadYaml();
  const lines = new LineCounter();
  // Integers that a number cannot hold must be seen as written.
  const document = parseDocument(source.text, {
    lineCounter: lines,
    prettyErrors: false,
    intAsBigInt: true,
  });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem !== undefined)
    throw taskFileError(source, problemText(problem), toPlace(lines, problem.pos), problem);
  try {
    return {
      data: new Converter().toData(document.contents, 0),
      placeOf: (path) => placeIn(document, lines, path),
    };
  } catch (error) {
    if (!(error instanceof YamlProblem)) throw error;
    const range = error.node?.range;
    throw taskFileError(source, error.message, range ? toPlace(lines, range) : undefined, error);
  }
}

function placeIn(document: Document, lines: LineCounter, path: DataPath): FilePlace | undefined {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    if (loadYaml().isNode(node) && node.range) return toPlace(lines, node.range);
  }
  return undefined;
}

function toPlace(lines: LineCounter, [start, end]: readonly [number, number, ...number[]]): FilePlace {
  const { line, col } = lines.linePos(start);
  const last = lines.linePos(end);
  return { line, column: Math.max(1, col), length: last.line === line ? Math.max(1, end - start) : 1 };
}

function problemText({ code, message }: YAMLError): string {
  if (code === 'MULTIPLE_DOCS') {
    return 'there is more than one document. Write all tasks in one list, without "---" between them.';
  }
  return `invalid YAML: ${message.replace(/\.$/, '')}.`;
}

/** What is wrong with a well-formed document. */
class YamlProblem extends Error {
  constructor(
    message: string,
    readonly node: Node | undefined,
  ) {
    super(message);
  }
}

const MERGE_KEY = '<<';
/** Values that merging may copy. */
const MAX_MERGED = 1_000_000;
/**
 * Converts a document to data, and resolves each anchor once. The library searches the document for every alias, which
 * takes minutes if many tasks share defaults.
 */
class Converter {
  private readonly anchors = new Map<string, unknown>();
  private merged = 0;

  toData(node: unknown, depth: number): unknown {
    if (loadYaml().isAlias(node)) {
      if (this.anchors.has(node.source)) return this.anchors.get(node.source);
      throw new YamlProblem(`there is no complete anchor &${node.source} before this alias.`, node);
    }
    if (depth > MAX_NESTING) throw new YamlProblem(`${TOO_NESTED}.`, node as Node);
    const data = this.toOwnData(node, depth);
    const { anchor } = (node ?? {}) as { anchor?: string };
    if (anchor !== undefined) this.anchors.set(anchor, data);
    return data;
  }

  private toOwnData(node: unknown, depth: number): unknown {
    if (loadYaml().isMap(node)) return this.toObject(node, depth);
    if (loadYaml().isSeq(node)) return node.items.map((item) => this.toData(item, depth + 1));
    return loadYaml().isScalar(node) ? node.value : null;
  }

  /** A map's own keys override merged ones, and earlier merges override later ones. */
  private toObject(map: YAMLMap, depth: number): Record<string, unknown> {
    const own = new Map<string, unknown>();
    const merged = new Map<string, unknown>();
    for (const { key, value } of map.items) {
      const name = keyOf(key);
      const data = this.toData(value, depth + 1);
      if (name === MERGE_KEY) this.merge(merged, data, value as Node);
      else own.set(name, data);
    }
    return merged.size === 0 ? Object.fromEntries(own) : Object.fromEntries([...merged, ...own]);
  }

  private merge(into: Map<string, unknown>, data: unknown, node: Node): void {
    for (const source of Array.isArray(data) ? data : [data]) {
      if (!isObject(source)) {
        throw new YamlProblem('"<<" merges only maps: an alias of one, or a list of aliases.', node);
      }
      for (const [key, value] of Object.entries(source)) {
        if (++this.merged > MAX_MERGED) {
          throw new YamlProblem('its aliases expand to too much data: shorten it.', node);
        }
        if (!into.has(key)) into.set(key, value);
      }
    }
  }
}

function keyOf(key: unknown): string {
  if (loadYaml().isScalar(key)) return String(key.value);
  throw new YamlProblem('a key must be a string.', key as Node);
}
