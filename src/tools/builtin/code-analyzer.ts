import { z } from 'zod';
import { analyse } from '../analysis/analyse.ts';
import type { ClassFacts, CodeFacts, FunctionFacts } from '../analysis/facts.ts';
import { KNOWN_EXTENSIONS, loadGrammar } from '../analysis/languages.ts';
import { type LineCounts, Lines } from '../analysis/lines.ts';
import { inSlices } from '../analysis/slices.ts';
import { defineTool } from '../define-tool.ts';
import type { Tool } from '../tool.ts';
import type { ToolEnvironment } from './environment.ts';
import { PATH } from './input-fields.ts';
import { memoryForMb } from './needs.ts';
import { readRange } from './read-file.ts';
import { fileFailure, permanentFailure, quoted } from './refusal.ts';
import { openFile } from './regular-file.ts';
import { Roots } from './roots.ts';
import { decodeText } from './text-search.ts';

const DESCRIPTION = `Analyzes a source file: lines (code, comment, blank), functions with their cyclomatic
complexity, classes, imports and the longest function. JavaScript, TypeScript and Python are read with real parsers
(${KNOWN_EXTENSIONS.join(' ')}); of any other text the lines are counted. Complexity is 1 for a function and 1 more for
each if, elif, loop, case, catch, except, conditional expression, && || ?? "and" "or", and each for and if of a
comprehension; a function within another is counted on its own. Docstrings count as comments. parse_errors are lines
that the parser could not read: a mistake, or rare syntax that it does not know; figures near them may be off.`;

const INPUT = z.strictObject({
  action: z.literal('analyze').default('analyze').describe('The only action.'),
  file_path: PATH.describe('The source file, relative to the working folder or absolute.'),
});

const COUNT = z.number();

const FUNCTION = z.object({
  name: z.string(),
  line: COUNT,
  end_line: COUNT,
  lines: COUNT,
  complexity: COUNT,
  parameters: COUNT,
});

const CLASS = z.object({ name: z.string(), line: COUNT, end_line: COUNT, lines: COUNT, methods: COUNT });

/** Lists are truncated at the limit; the counts are not. */
const ANALYZED = z.object({
  file_path: z.string(),
  language: z.enum(['javascript', 'typescript', 'python']),
  lines: z.object({ total: COUNT, code: COUNT, comment: COUNT, blank: COUNT }),
  function_count: COUNT,
  functions: z.array(FUNCTION),
  class_count: COUNT,
  classes: z.array(CLASS),
  import_count: COUNT,
  imports: z.array(z.object({ module: z.string().describe('As written.'), line: COUNT })),
  complexity: z
    .object({ total: COUNT, max: COUNT, mean: COUNT, top_level: COUNT })
    .describe('total, max and mean cover the functions; top_level counts the decisions outside of them.'),
  longest_function: FUNCTION.nullable(),
  parse_error_count: COUNT,
  parse_errors: z.array(z.object({ line: COUNT })),
  truncated: z.boolean().describe('Whether a list was truncated.'),
});

const COUNTED = z.object({
  file_path: z.string(),
  language: z.literal('unknown'),
  lines: z.object({ total: COUNT, blank: COUNT }),
  note: z.string(),
});

/** The facts of a supported language, or the lines of any other text. */
const OUTPUT = z.union([ANALYZED, COUNTED]);

/** The result of `code_analyzer_tool` for a supported language. */
export type AnalyzedCode = z.infer<typeof ANALYZED>;
type CountedText = z.infer<typeof COUNTED>;
type FunctionReport = z.infer<typeof FUNCTION>;
type ClassReport = z.infer<typeof CLASS>;
type AnalyzerInput = z.infer<typeof INPUT>;
type AnalyzerResult = z.infer<typeof OUTPUT>;

/** Raise it when the same input gives another result, so that cached results are not used. */
const VERSION = '1';
const MIB = 2 ** 20;
/** The measured memory of a tree: 20 times the size of ordinary code. */
const TREE_SHARE = 20;
const BYTE_ORDER_MARK = '\ufeff';

/** Counts lines, functions, complexity and imports of a source file. */
export function codeAnalyzerTool(
  environment: Pick<ToolEnvironment, 'roots' | 'files' | 'protection'>,
  roots = new Roots(environment.roots, undefined, environment.protection),
): Tool<AnalyzerInput, AnalyzerResult> {
  const { maxBytes, maxEntries } = environment.files;
  return defineTool<AnalyzerInput, AnalyzerResult>({
    name: 'code_analyzer_tool',
    description: DESCRIPTION.replaceAll('\n', ' '),
    input: INPUT,
    output: OUTPUT,
    readOnly: true,
    cache: ({ file_path }) => ({ files: [file_path], version: VERSION }),
    resources: ({ file_path }) => {
      const bytes = Math.min(maxBytes, roots.sizeOf(file_path));
      return {
        cpu: 1,
        memoryMb: memoryForMb(bytes) + Math.ceil((TREE_SHARE * bytes) / MIB),
        io: 'low',
        shared: [roots.lockName(file_path)],
      };
    },
    run: async ({ file_path }, { signal, report }) => {
      try {
        const source = await readSource(roots, file_path, maxBytes, signal);
        const grammar = await loadGrammar(file_path);
        if (grammar === undefined) {
          return countedText(
            file_path,
            await inSlices(linesOf(source), signal, () => report('Counting lines')),
          );
        }
        const facts = await inSlices(analyse(source, grammar, maxEntries), signal, (share) => report(share));
        return reportOf(file_path, facts);
      } catch (error) {
        throw fileFailure('analyze', file_path, error);
      }
    },
  });
}

async function readSource(
  roots: Roots,
  path: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<string> {
  const { handle, stats } = await openFile(roots, path);
  try {
    if (stats.size > maxBytes) {
      throw permanentFailure(
        `${quoted(path)} has ${stats.size} bytes, but at most ${maxBytes} are read: raise tools.files.max_bytes, or analyze another file.`,
      );
    }
    const { bytes } = await readRange(handle, { from: 0, to: stats.size }, false, signal);
    const text = decodeText(bytes);
    if (text === undefined) throw permanentFailure(`${quoted(path)} is not UTF-8 text.`);
    return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  } finally {
    await handle.close();
  }
}

function* linesOf(source: string) {
  const lines = yield* Lines.of(source);
  return yield* lines.count(source, []);
}

function reportOf(path: string, facts: CodeFacts): AnalyzedCode {
  const { functions, classes, imports, syntaxErrors, totalComplexity, longest } = facts;
  const mean = functions.count === 0 ? 0 : totalComplexity / functions.count;
  return {
    file_path: path,
    language: facts.language,
    lines: facts.lines,
    function_count: functions.count,
    functions: functions.first.map(functionReport),
    class_count: classes.count,
    classes: classes.first.map(classReport),
    import_count: imports.count,
    imports: [...imports.first],
    complexity: {
      total: totalComplexity,
      max: facts.maxComplexity,
      mean: Math.round(mean * 100) / 100,
      top_level: facts.topLevelDecisions,
    },
    longest_function: longest === undefined ? null : functionReport(longest),
    parse_error_count: syntaxErrors.count,
    parse_errors: syntaxErrors.first.map((line) => ({ line })),
    truncated: [functions, classes, imports, syntaxErrors].some(({ count, first }) => first.length < count),
  };
}

function countedText(path: string, { total, blank }: LineCounts): CountedText {
  return {
    file_path: path,
    language: 'unknown',
    lines: { total, blank },
    note: `Only the lines were counted: functions, complexity and imports are known for ${KNOWN_EXTENSIONS.join(', ')}.`,
  };
}

function functionReport({ name, line, endLine, complexity, parameters }: FunctionFacts): FunctionReport {
  return { name, line, end_line: endLine, lines: endLine - line + 1, complexity, parameters };
}

function classReport({ name, line, endLine, methods }: ClassFacts): ClassReport {
  return { name, line, end_line: endLine, lines: endLine - line + 1, methods };
}
