import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type YAMLMap } from 'yaml';

/** What is wrong with a document that is well written, and the node where. */
export class YamlProblem extends Error {
  constructor(
    message: string,
    readonly node: Node | undefined,
  ) {
    super(message);
  }
}

const MERGE_KEY = '<<';
/** As many values as may be copied by merging. */
const MAX_MERGED = 1_000_000;
/** Deeper ones are refused for every format; the parser itself takes more than the stack does. */
const DEEPEST = 250;

/**
 * The data of a document. Each anchor is looked up once: the library's own way goes through the document for every
 * alias, which takes minutes where each of many tasks refers to the same defaults.
 */
export function yamlData(document: Document): unknown {
  return new Converter().toData(document.contents, 0);
}

class Converter {
  private readonly anchors = new Map<string, unknown>();
  private merged = 0;

  toData(node: unknown, depth: number): unknown {
    if (isAlias(node)) {
      if (this.anchors.has(node.source)) return this.anchors.get(node.source);
      throw new YamlProblem(`no anchor &${node.source} is complete before this alias.`, node);
    }
    if (depth > DEEPEST) throw new YamlProblem(`it is nested deeper than ${DEEPEST} levels.`, node as Node);
    const data = this.toOwnData(node, depth);
    const { anchor } = (node ?? {}) as { anchor?: string };
    if (anchor !== undefined) this.anchors.set(anchor, data);
    return data;
  }

  private toOwnData(node: unknown, depth: number): unknown {
    if (isMap(node)) return this.toObject(node, depth);
    if (isSeq(node)) return node.items.map((item) => this.toData(item, depth + 1));
    return isScalar(node) ? node.value : null;
  }

  /** What stands in the map itself goes before what is merged, and that which is merged first before the rest. */
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
      if (typeof source !== 'object' || source === null || Array.isArray(source)) {
        throw new YamlProblem('"<<" merges maps only: an alias of one, or a list of such.', node);
      }
      for (const [key, value] of Object.entries(source)) {
        if (++this.merged > MAX_MERGED) {
          throw new YamlProblem('its aliases stand for too much: write less of it.', node);
        }
        if (!into.has(key)) into.set(key, value);
      }
    }
  }
}

function keyOf(key: unknown): string {
  if (isScalar(key)) return String(key.value);
  throw new YamlProblem('a key must be a text.', key as Node);
}
