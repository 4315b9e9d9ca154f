import { extname } from 'node:path';
import type { Parser, SyntaxNode, SyntaxNodeRef } from '@lezer/common';

const javascript = async () => (await import('./javascript.ts')).JAVASCRIPT;
const typescript = async () => (await import('./javascript.ts')).TYPESCRIPT;
const tsx = async () => (await import('./javascript.ts')).TSX;
const python = async () => (await import('./python.ts')).PYTHON;

/** Parsers are loaded on demand. */
const BY_EXTENSION = new Map<string, () => Promise<Grammar>>([
  ['.js', javascript],
  ['.mjs', javascript],
  ['.cjs', javascript],
  ['.jsx', javascript],
  ['.ts', typescript],
  ['.mts', typescript],
  ['.cts', typescript],
  ['.tsx', tsx],
  ['.py', python],
  ['.pyi', python],
  ['.pyw', python],
]);

/** The extensions that {@link loadGrammar} knows. */
export const KNOWN_EXTENSIONS: readonly string[] = [...BY_EXTENSION.keys()];

/** The grammar for a file name; undefined for an unknown language. */
export async function loadGrammar(path: string): Promise<Grammar | undefined> {
  return BY_EXTENSION.get(extname(path).toLowerCase())?.();
}

/** The languages with full support. */
export type Language = 'javascript' | 'typescript' | 'python';

/** What the walk needs to know about a language: its parser's node names. */
export interface Grammar {
  readonly language: Language;
  readonly parser: Parser;
  /** Nodes that may be functions; {@link body} decides. */
  readonly functions: ReadonlySet<string>;
  /** Functions whose body is not a {@link body} node. */
  readonly expressionFunctions: ReadonlySet<string>;
  /** The child without which a function is only declared: an overload, an abstract method. */
  readonly body: string;
  readonly classes: ReadonlySet<string>;
  /** Nodes that name a function or class, as a child or as an assignment target. */
  readonly names: ReadonlySet<string>;
  /** Tokens between a name and the anonymous function or class assigned to it. */
  readonly assigners: ReadonlySet<string>;
  /** Nodes that may come between the name and the assigner: types. */
  readonly annotations: ReadonlySet<string>;
  /** Nodes before the head of a function or class that do not count toward its lines. */
  readonly decorators: ReadonlySet<string>;
  /** Nodes that make up a parameter; the first one after a comma counts. */
  readonly parameters: ReadonlySet<string>;
  readonly comments: ReadonlySet<string>;
  /** Whether a statement is only documentation. */
  isDocumentation(node: SyntaxNodeRef): boolean;
  /** Whether a node is a decision that cyclomatic complexity counts. */
  isDecision(node: SyntaxNodeRef, source: string): boolean;
  /**
   * Whether a parse error is a false alarm: the parser fails on a few valid and common constructs. Only those from
   * which it recovers without loss are here.
   */
  isValidAfterAll(error: SyntaxNode, source: string): boolean;
  /** Nodes that may import something. */
  readonly imports: ReadonlySet<string>;
  importedBy(node: SyntaxNode, source: string): readonly string[];
}

/** The source of a node. */
export function textOf(node: { readonly from: number; readonly to: number }, source: string): string {
  return source.slice(node.from, node.to);
}
