import { extname } from 'node:path';
import type { Parser, SyntaxNode, SyntaxNodeRef } from '@lezer/common';

const javascript = async () => (await import('./javascript.ts')).JAVASCRIPT;
const typescript = async () => (await import('./javascript.ts')).TYPESCRIPT;
const tsx = async () => (await import('./javascript.ts')).TSX;
const python = async () => (await import('./python.ts')).PYTHON;

/** The parsers are loaded for the first file that needs one. */
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

/** How a file of this name is read; undefined for a language that is not known. */
export async function loadGrammar(path: string): Promise<Grammar | undefined> {
  return BY_EXTENSION.get(extname(path).toLowerCase())?.();
}

/** The languages of which more than the lines is known. */
export type Language = 'javascript' | 'typescript' | 'python';

/** What the walk must know of a language: the names that its parser gives to the nodes of the tree. */
export interface Grammar {
  readonly language: Language;
  readonly parser: Parser;
  /** Nodes that may be functions; {@link body} tells which are. */
  readonly functions: ReadonlySet<string>;
  /** Functions that have a body without having a node of the name {@link body}. */
  readonly expressionFunctions: ReadonlySet<string>;
  /** The child without which a function is only declared: an overload, an abstract method. */
  readonly body: string;
  readonly classes: ReadonlySet<string>;
  /** What gives a function or class its name, as a child of its own or as what it is assigned to. */
  readonly names: ReadonlySet<string>;
  /** What stands between a name and the nameless function or class that is assigned to it. */
  readonly assigners: ReadonlySet<string>;
  /** What may stand between the name and the assigner: types. */
  readonly annotations: ReadonlySet<string>;
  /** What stands before the head of a function or class but is not counted among its lines. */
  readonly decorators: ReadonlySet<string>;
  /** What a parameter is made of; the first one after a comma counts. */
  readonly parameters: ReadonlySet<string>;
  readonly comments: ReadonlySet<string>;
  /** Whether a statement is nothing but documentation. */
  isDocumentation(node: SyntaxNodeRef): boolean;
  /** Whether a node is a decision of the kinds that cyclomatic complexity counts. */
  isDecision(node: SyntaxNodeRef, source: string): boolean;
  /**
   * Whether an error is none: the parser stumbles over a few things that are valid and common. Only those are here
   * after which it goes on with nothing lost.
   */
  isValidAfterAll(error: SyntaxNode, source: string): boolean;
  /** The nodes that can import something. */
  readonly imports: ReadonlySet<string>;
  importedBy(node: SyntaxNode, source: string): readonly string[];
}

/** The text of a node. */
export function textOf(node: { readonly from: number; readonly to: number }, source: string): string {
  return source.slice(node.from, node.to);
}
