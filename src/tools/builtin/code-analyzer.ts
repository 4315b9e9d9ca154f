import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { analyse } from '../analysis/analyse.ts';
import type { ClassFacts, CodeFacts, FunctionFacts, ImportFacts } from '../analysis/facts.ts';
import { KNOWN_EXTENSIONS, type Language, loadGrammar } from '../analysis/languages.ts';
import { type LineCounts, Lines } from '../analysis/lines.ts';
import { inSlices } from '../analysis/slices.ts';
import { defineTool } from '../define-tool.ts';
import type { Tool } from '../tool.ts';
import type { ToolEnvironment } from './environment.ts';
import { memoryForMb } from './needs.ts';
import { readRange } from './read-file.ts';
import { fileFailure, permanentFailure, quoted } from './refusal.ts';
import { openFile } from './regular-file.ts';
import { Roots } from './roots.ts';
import { decodeText } from './text-search.ts';
import { PATH } from './walk.ts';

const DESCRIPTION = `Tells the facts of a source file: lines (code, comment, blank), functions with their cyclomatic
complexity, classes, imports and the longest function. JavaScript, TypeScript and Python are read with real parsers
(${KNOWN_EXTENSIONS.join(' ')}); of any other text the lines are counted. Complexity is 1 for a function and 1 more for
each if, elif, loop, case, catch, except, conditional expression, && || ?? "and" "or", and each for and if of a
comprehension; a function within another is counted on its own. Docstrings count as comments. parse_errors are lines
that the parser could not read: a mistake, or rare syntax that it does not know; figures near them may be off.`;

const INPUT = z.strictObject({
  action: z.literal('analyze').default('analyze').describe('The only action.'),
  file_path: PATH.describe('The source file, relative to the working folder or absolute.'),
});

type AnalyzerInput = z.infer<typeof INPUT>;
type AnalyzerResult = AnalyzedCode | CountedText;

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
    readOnly: true,
    resources: ({ file_path }) => {
      const bytes = Math.min(maxBytes, sizeOf(resolve(environment.roots[0] ?? '/', file_path)));
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

/** Only an estimate of its needs; whether it may be read is checked later. */
function sizeOf(path: string): number {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  } catch {
    return 0;
  }
}

interface FunctionReport {
  readonly name: string;
  readonly line: number;
  readonly end_line: number;
  readonly lines: number;
  readonly complexity: number;
  readonly parameters: number;
}

interface ClassReport {
  readonly name: string;
  readonly line: number;
  readonly end_line: number;
  readonly lines: number;
  readonly methods: number;
}

/**
 * The result of `code_analyzer_tool` for a supported language. Lists are truncated at the limit; the counts are not.
 */
export interface AnalyzedCode {
  readonly file_path: string;
  readonly language: Language;
  readonly lines: LineCounts;
  readonly function_count: number;
  readonly functions: readonly FunctionReport[];
  readonly class_count: number;
  readonly classes: readonly ClassReport[];
  readonly import_count: number;
  readonly imports: readonly ImportFacts[];
  /** `total`, `max` and `mean` cover the functions; `top_level` counts the decisions outside of them. */
  readonly complexity: {
    readonly total: number;
    readonly max: number;
    readonly mean: number;
    readonly top_level: number;
  };
  readonly longest_function: FunctionReport | null;
  readonly parse_error_count: number;
  readonly parse_errors: readonly { readonly line: number }[];
  /** Whether a list was truncated. */
  readonly truncated: boolean;
}

/** The result for any other text. */
interface CountedText {
  readonly file_path: string;
  readonly language: 'unknown';
  readonly lines: Pick<LineCounts, 'total' | 'blank'>;
  readonly note: string;
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
    imports: imports.first,
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
