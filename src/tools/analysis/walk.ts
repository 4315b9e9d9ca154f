import type { SyntaxNode, Tree, TreeCursor } from '@lezer/common';
import type { Bounded, ClassFacts, FunctionFacts, ImportFacts } from './facts.ts';
import { type Grammar, textOf } from './languages.ts';
import { isSpace, type Lines } from './lines.ts';

const MAX_NAME_LENGTH = 100;
/** The name of an anonymous function or class. */
const NAMELESS = '(anonymous)';

/** The name of a function or class: its own, or that of its assignment target. */
function nameOf(node: SyntaxNode, grammar: Grammar, source: string): string {
  const name = ownName(node, grammar) ?? assignedName(node, grammar);
  if (name !== undefined) return shown(name, source);
  return node.prevSibling?.name === 'default' ? 'default' : NAMELESS;
}

/** A direct child before the parameters or the body. */
function ownName(node: SyntaxNode, grammar: Grammar): SyntaxNode | undefined {
  if (grammar.expressionFunctions.has(node.name)) return undefined;
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (grammar.names.has(child.name)) return child;
    // The name after `extends` is not its own.
    if (child.name === 'ParamList' || child.name === 'extends' || child.name === grammar.body) break;
  }
  return undefined;
}

function assignedName(node: SyntaxNode, grammar: Grammar): SyntaxNode | undefined {
  const assigner = node.prevSibling;
  if (assigner === null || !grammar.assigners.has(assigner.name)) return undefined;
  let target = assigner.prevSibling;
  while (target !== null && grammar.annotations.has(target.name)) target = target.prevSibling;
  // A computed name ends with its bracket.
  if (target?.name === ']') target = node.parent!.getChild('[');
  return target !== null && grammar.names.has(target.name) ? target : undefined;
}

function shown(name: SyntaxNode, source: string): string {
  if (name.name === 'String') return cut(source.slice(name.from + 1, name.to - 1));
  if (name.name !== '[') return cut(textOf(name, source));
  let end: SyntaxNode = name;
  while (end.name !== ']' && end.nextSibling !== null) end = end.nextSibling;
  return cut(source.slice(name.from, end.to));
}

function cut(text: string): string {
  return text.length <= MAX_NAME_LENGTH ? text : `${text.slice(0, MAX_NAME_LENGTH)}…`;
}

/** Nodes visited between two pauses. */
const STRIDE = 512;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A function or class that encloses the current node. */
type Scope = { readonly depth: number } & (
  | { readonly kind: 'function'; readonly facts: Mutable<FunctionFacts> }
  | { readonly kind: 'class'; readonly facts: Mutable<ClassFacts> }
);

/** A list that keeps only the first `limit` entries. */
class Collected<T> implements Bounded<T> {
  count = 0;
  readonly first: T[] = [];

  constructor(private readonly limit: number) {}

  add(item: T): void {
    this.count++;
    if (this.first.length < this.limit) this.first.push(item);
  }
}

/** Walks a tree without recursion, because the author controls its depth. */
export class SourceWalk {
  readonly functions: Collected<FunctionFacts>;
  readonly classes: Collected<ClassFacts>;
  readonly imports: Collected<ImportFacts>;
  readonly syntaxErrors: Collected<number>;
  /** Pairs of positions, in order, including docstrings. */
  readonly comments: number[] = [];
  totalComplexity = 0;
  maxComplexity = 0;
  topLevelDecisions = 0;
  longest: FunctionFacts | undefined;

  private readonly scopes: Scope[] = [];
  /** The function whose decisions are being counted. */
  private readonly functionStack: Mutable<FunctionFacts>[] = [];
  private lastErrorLine = 0;
  /** The end of the last docstring: unlike a comment, it can end a function. */
  private documentationEnd = -1;

  constructor(
    private readonly grammar: Grammar,
    private readonly source: string,
    private readonly lines: Lines,
    limit: number,
  ) {
    this.functions = new Collected(limit);
    this.classes = new Collected(limit);
    this.imports = new Collected(limit);
    this.syntaxErrors = new Collected(limit);
  }

  /** Yields between strides. */
  *over(tree: Tree): Generator<void, void> {
    const cursor = tree.cursor();
    let depth = 0;
    for (let visited = 1; ; visited++) {
      if (visited % STRIDE === 0) yield;
      this.enter(cursor, depth);
      if (cursor.firstChild()) {
        depth++;
        continue;
      }
      for (;;) {
        if (this.scopes.at(-1)?.depth === depth) this.leave(cursor.to);
        if (cursor.nextSibling()) break;
        if (!cursor.parent()) return;
        depth--;
      }
    }
  }

  private enter(cursor: TreeCursor, depth: number): void {
    const { grammar } = this;
    const { name } = cursor;
    if (cursor.type.isError) this.addError(cursor.node);
    else if (grammar.comments.has(name)) this.comments.push(cursor.from, cursor.to);
    else if (grammar.isDocumentation(cursor)) {
      this.comments.push(cursor.from, cursor.to);
      this.documentationEnd = cursor.to;
    } else if (grammar.isDecision(cursor, this.source)) this.addDecision();
    else if (grammar.functions.has(name)) {
      if (this.hasBody(cursor)) this.enterFunction(cursor.node, depth);
    } else if (grammar.classes.has(name)) this.enterClass(cursor.node, depth);
    else if (grammar.imports.has(name)) this.addImports(cursor.node);
  }

  private hasBody(cursor: TreeCursor): boolean {
    return (
      this.grammar.expressionFunctions.has(cursor.name) || cursor.node.getChild(this.grammar.body) !== null
    );
  }

  private enterFunction(node: SyntaxNode, depth: number): void {
    const facts = { ...this.heading(node), complexity: 1, parameters: this.parametersOf(node) };
    const home = this.scopes.at(-1);
    if (home?.kind === 'class' && facts.name !== NAMELESS) home.facts.methods++;
    this.functions.add(facts);
    this.functionStack.push(facts);
    this.scopes.push({ depth, kind: 'function', facts });
  }

  private enterClass(node: SyntaxNode, depth: number): void {
    const facts = { ...this.heading(node), methods: 0 };
    this.classes.add(facts);
    this.scopes.push({ depth, kind: 'class', facts });
  }

  private heading(node: SyntaxNode): { name: string; line: number; endLine: number } {
    const home = this.scopes.at(-1);
    const ownName = nameOf(node, this.grammar, this.source);
    const isMember = home?.kind === 'class' && ownName !== NAMELESS;
    let head = node.firstChild;
    while (head !== null && this.grammar.decorators.has(head.name)) head = head.nextSibling;
    const line = this.lines.at(head?.from ?? node.from);
    return { name: isMember ? `${home.facts.name}.${ownName}` : ownName, line, endLine: line };
  }

  private leave(to: number): void {
    const { kind, facts } = this.scopes.pop()!;
    facts.endLine = this.lines.at(this.endOfCode(to) - 1);
    if (kind === 'class') return;
    this.functionStack.pop();
    this.totalComplexity += facts.complexity;
    this.maxComplexity = Math.max(this.maxComplexity, facts.complexity);
    const { longest } = this;
    // Of two nested functions the inner one ends first, so the line breaks ties.
    const more = longest === undefined ? 1 : facts.endLine - facts.line - (longest.endLine - longest.line);
    if (more > 0 || (more === 0 && facts.line < longest!.line)) this.longest = facts;
  }

  /** The body of a Python function may include trailing whitespace and comments. */
  private endOfCode(to: number): number {
    for (let last = this.comments.length - 1; ; last -= 2) {
      while (to > 0 && isSpace(this.source.charCodeAt(to - 1))) to--;
      if (this.comments[last] !== to || to === this.documentationEnd) return to;
      to = this.comments[last - 1]!;
    }
  }

  private parametersOf(node: SyntaxNode): number {
    let count = 0;
    let isNext = true;
    for (let child = node.getChild('ParamList')?.firstChild; child; child = child.nextSibling) {
      if (child.name === ',') isNext = true;
      else if (isNext && this.grammar.parameters.has(child.name)) {
        count++;
        isNext = false;
      }
    }
    return count;
  }

  private addDecision(): void {
    const home = this.functionStack.at(-1);
    if (home === undefined) this.topLevelDecisions++;
    else home.complexity++;
  }

  private addImports(node: SyntaxNode): void {
    const modules = this.grammar.importedBy(node, this.source);
    if (modules.length === 0) return;
    const line = this.lines.at(node.from);
    for (const module of modules) this.imports.add({ module, line });
  }

  private addError(error: SyntaxNode): void {
    const line = this.lines.at(error.from);
    // The parser often reports one error several times.
    if (line === this.lastErrorLine || this.grammar.isValidAfterAll(error, this.source)) return;
    this.lastErrorLine = line;
    this.syntaxErrors.add(line);
  }
}
