import type { ClassFacts, CodeFacts, FunctionFacts, ImportFacts } from '../analysis/facts.ts';
import type { Language } from '../analysis/grammar.ts';
import { KNOWN_EXTENSIONS } from '../analysis/languages.ts';
import type { LineCounts } from '../analysis/lines.ts';

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

/** What `code_analyzer_tool` tells of a language that it knows. Lists are cut at the limit; the counts are not. */
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
  /** `total`, `max` and `mean` are of the functions; `top_level` counts the decisions outside of them. */
  readonly complexity: {
    readonly total: number;
    readonly max: number;
    readonly mean: number;
    readonly top_level: number;
  };
  readonly longest_function: FunctionReport | null;
  readonly parse_error_count: number;
  readonly parse_errors: readonly { readonly line: number }[];
  /** Whether a list was cut. */
  readonly truncated: boolean;
}

/** What it tells of any other text. */
export interface CountedText {
  readonly file_path: string;
  readonly language: 'unknown';
  readonly lines: Pick<LineCounts, 'total' | 'blank'>;
  readonly note: string;
}

export function reportOf(path: string, facts: CodeFacts): AnalyzedCode {
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

export function countedText(path: string, { total, blank }: LineCounts): CountedText {
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
