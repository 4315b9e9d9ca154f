import type { SyntaxNode, SyntaxNodeRef, Tree } from '@lezer/common';
import { parser } from '@lezer/javascript';
import { VolleyError } from '../core/errors.ts';
import { expressionText } from './expression-text.ts';
import { isName } from './names.ts';

const PARSER = parser.configure({ top: 'SingleExpression' });
const NO_NAMES: ReadonlySet<string> = new Set();
/** Nodes whose declarations are visible only inside them. */
const SCOPES = new Set([
  'ArrowFunction',
  'FunctionExpression',
  'FunctionDeclaration',
  'MethodDeclaration',
  'Property',
  'ClassExpression',
  'ClassDeclaration',
  'StaticBlock',
  'Block',
  'SwitchBody',
  'ForStatement',
  'CatchClause',
]);
const FUNCTIONS = new Set([
  'ArrowFunction',
  'FunctionExpression',
  'FunctionDeclaration',
  'MethodDeclaration',
  'Property',
  'StaticBlock',
]);

/** The tasks whose results an expression uses. */
export interface Mentions {
  /** Includes every `results.id`, whether there is such a task or not. */
  readonly ids: ReadonlySet<string>;
  /** Whether it uses `results` in a way that can reach all of them, such as `Object.values(results)`. */
  readonly usesAll: boolean;
  /** Names that stand for nothing: neither declared, nor known, nor part of the language. */
  readonly unknown: ReadonlySet<string>;
}

/**
 * Finds the results that an expression mentions: `results.id`, `results['id']`, or the id alone if it is `known` and the
 * expression does not declare it. `locals` are names that mean something else here, such as `item`. Throws
 * `INVALID_EXPRESSION` for a syntax error.
 *
 * Loads a parser: import this module when it is needed.
 */
export function mentionsIn(
  source: string,
  known: { has(id: string): boolean },
  locals: ReadonlySet<string> = NO_NAMES,
): Mentions {
  const text = expressionText(source);
  const tree = PARSER.parse(text);
  refuseErrors(tree, text);
  const declared = declarationsIn(tree, text);
  /** How many of the scopes around the current node declare a name. */
  const hidden = new Map<string, number>();
  const ids = new Set<string>();
  const unknown = new Set<string>();
  let usesAll = false;

  const count = (names: ReadonlySet<string> | undefined, by: 1 | -1) => {
    for (const name of names ?? []) hidden.set(name, (hidden.get(name) ?? 0) + by);
  };
  const used = (ref: SyntaxNodeRef) => {
    const name = text.slice(ref.from, ref.to);
    if (locals.has(name) || (hidden.get(name) ?? 0) > 0) return;
    if (name === 'results') {
      const key = keyOfResults(ref.node, text);
      if (key === undefined) usesAll = true;
      else ids.add(key);
    } else if (isName(name)) (known.has(name) ? ids : unknown).add(name);
  };
  tree.iterate({
    enter(ref) {
      count(declared.get(scopeKey(ref)), 1);
      if (isUse(ref)) used(ref);
    },
    leave: (ref) => count(declared.get(scopeKey(ref)), -1),
  });
  return { ids, usesAll, unknown };
}

function refuseErrors(tree: Tree, text: string): void {
  let at: number | undefined;
  tree.iterate({
    enter(ref) {
      if (ref.type.isError) at ??= ref.from;
    },
  });
  if (at === undefined) return;
  const before = text.slice(0, at).split('\n');
  const line = before.length;
  const column = before.at(-1)!.length + 1;
  const near = text.slice(at).trimStart().slice(0, 20).split('\n')[0];
  const place = line === 1 ? `column ${column}` : `line ${line}, column ${column}`;
  throw new VolleyError(
    'INVALID_EXPRESSION',
    `The expression has a syntax error at ${place}${near ? `, near "${near}"` : ', where it ends'}.`,
    { line, column },
  );
}

/** A node is identified by its type and place: two nodes of one type never have the same place. */
function scopeKey(ref: SyntaxNodeRef): string {
  return SCOPES.has(ref.name) ? `${ref.name} ${ref.from} ${ref.to}` : '';
}

/** The names that each scope declares, by its key. */
function declarationsIn(tree: Tree, text: string): Map<string, Set<string>> {
  const declared = new Map<string, Set<string>>();
  const scopes: { readonly name: string; readonly key: string }[] = [];
  tree.iterate({
    enter(ref) {
      if (SCOPES.has(ref.name)) scopes.push({ name: ref.name, key: scopeKey(ref) });
      if (ref.name !== 'VariableDefinition' || isAssigned(ref.node)) return;
      const scope = scopeOf(ref.node, scopes);
      if (scope === undefined) return;
      const names = declared.get(scope) ?? new Set();
      declared.set(scope, names.add(text.slice(ref.from, ref.to)));
    },
    leave(ref) {
      if (SCOPES.has(ref.name)) scopes.pop();
    },
  });
  return declared;
}

/** The scope of a declaration: `scopes` are those around it, innermost last. */
function scopeOf(
  definition: SyntaxNode,
  scopes: readonly { readonly name: string; readonly key: string }[],
): string | undefined {
  const parent = definition.parent?.name;
  // The name of a declared function or class belongs to the scope around it.
  if (parent === 'FunctionDeclaration' || parent === 'ClassDeclaration') return scopes.at(-2)?.key;
  if (!isVar(definition)) return scopes.at(-1)?.key;
  return scopes.findLast(({ name }) => FUNCTIONS.has(name))?.key;
}

function isVar(definition: SyntaxNode): boolean {
  const declaration = outsidePattern(definition);
  if (declaration?.name !== 'VariableDeclaration' && !declaration?.name.startsWith('For')) return false;
  return declaration.getChild('var') !== null;
}

/** Whether it is the target of an assignment such as `[a, b] = list`, which declares nothing. */
function isAssigned(definition: SyntaxNode): boolean {
  return outsidePattern(definition)?.name === 'AssignmentExpression';
}

/** The nearest node around a name that is not part of a destructuring pattern. */
function outsidePattern(definition: SyntaxNode): SyntaxNode | null {
  let node = definition.parent;
  while (node?.name === 'PatternProperty' || node?.name.endsWith('Pattern')) node = node.parent;
  return node;
}

function isUse(ref: SyntaxNodeRef): boolean {
  switch (ref.name) {
    case 'VariableName':
      return true;
    case 'VariableDefinition':
      return isAssigned(ref.node);
    case 'PropertyDefinition': {
      // `{ a }` is short for `{ a: a }`.
      const { parent } = ref.node;
      return parent?.name === 'Property' && parent.firstChild?.nextSibling === null;
    }
    default:
      return false;
  }
}

/** The id in `results.id` or `results['id']`; undefined if it is anything else. */
function keyOfResults(results: SyntaxNode, text: string): string | undefined {
  if (results.parent?.name !== 'MemberExpression' || results.prevSibling !== null) return undefined;
  let next = results.nextSibling;
  if (next?.name === '?.' && next.nextSibling?.name === '[') next = next.nextSibling;
  const key = next?.nextSibling;
  if (key == null) return undefined;
  const written = text.slice(key.from, key.to);
  switch (key.name) {
    case 'PropertyName':
      return written;
    case 'Number':
      return String(Number(written));
    case 'String':
    case 'TemplateString':
      return key.getChild('Interpolation') === null ? unquoted(written) : undefined;
    default:
      return undefined;
  }
}

/** The text of a string literal; undefined for escapes other than of a quote or a backslash. */
function unquoted(literal: string): string | undefined {
  const inner = literal.slice(1, -1);
  if (/\\[^'"`\\]/.test(inner)) return undefined;
  return inner.replace(/\\(.)/g, '$1');
}
