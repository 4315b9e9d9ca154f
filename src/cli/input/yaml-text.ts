import { type Document, isNode, LineCounter, parseDocument, type YAMLError } from 'yaml';
import type { Place } from '../../config/problems.ts';
import { tooDeepAt } from '../../tasks/plan/yaml-depth.ts';
import { placeAt, type Source, taskFileError } from './fault.ts';
import type { Parsed } from './parse.ts';
import { type DataPath, DEEPEST, TOO_DEEP } from './plain-data.ts';
import { YamlProblem, yamlData } from './yaml-data.ts';

/** The parser needs seconds and hundreds of megabytes for this much. */
const MAX_CHARACTERS = 8 * 1024 * 1024;

/** Reads one document of YAML. `<<` merges defaults. */
export function parseYaml(source: Source): Parsed {
  if (source.text.length > MAX_CHARACTERS) {
    throw taskFileError(source, 'a YAML file may have 8 MB at most: use JSON Lines for that many tasks.');
  }
  const tooDeep = tooDeepAt(source.text, DEEPEST);
  if (tooDeep !== undefined) throw taskFileError(source, TOO_DEEP, placeAt(source.text, tooDeep));
  const lines = new LineCounter();
  // An integer that a number cannot hold must be seen as it was written.
  const document = parseDocument(source.text, {
    lineCounter: lines,
    prettyErrors: false,
    intAsBigInt: true,
  });
  const [fault] = [...document.errors, ...document.warnings];
  if (fault !== undefined) throw taskFileError(source, faultText(fault), toPlace(lines, fault.pos), fault);
  try {
    return { data: yamlData(document), placeOf: (path) => placeIn(document, lines, path) };
  } catch (error) {
    if (!(error instanceof YamlProblem)) throw error;
    const range = error.node?.range;
    throw taskFileError(source, error.message, range ? toPlace(lines, range) : undefined, error);
  }
}

function placeIn(document: Document, lines: LineCounter, path: DataPath): Place | undefined {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return toPlace(lines, node.range);
  }
  return undefined;
}

function toPlace(lines: LineCounter, [start, end]: readonly [number, number, ...number[]]): Place {
  const { line, col } = lines.linePos(start);
  const last = lines.linePos(end);
  return { line, column: Math.max(1, col), length: last.line === line ? Math.max(1, end - start) : 1 };
}

function faultText({ code, message }: YAMLError): string {
  if (code === 'MULTIPLE_DOCS') {
    return 'there is more than one document: write all tasks into one list, without "---" between them.';
  }
  return `this is not valid YAML: ${message.replace(/\.$/, '')}.`;
}
