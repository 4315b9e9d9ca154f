import type { SyntaxNode, SyntaxNodeRef } from '@lezer/common';
import { parser } from '@lezer/python';
import { type Grammar, textOf } from './languages.ts';

/** Keywords: `if` and `for` occur in statements, comprehensions and guards. */
const DECISIONS = new Set(['if', 'elif', 'for', 'while', 'except', 'and', 'or']);
const COMMENT = 'Comment';

export const PYTHON: Grammar = {
  language: 'python',
  parser,
  functions: new Set(['FunctionDefinition', 'LambdaExpression']),
  expressionFunctions: new Set(['LambdaExpression']),
  body: 'Body',
  classes: new Set(['ClassDefinition']),
  names: new Set(['VariableName', 'MemberExpression', 'String']),
  assigners: new Set(['AssignOp', ':']),
  annotations: new Set(['TypeDef']),
  // The parser puts decorators outside the node they decorate.
  decorators: new Set(),
  parameters: new Set(['VariableName']),
  comments: new Set([COMMENT]),
  isDocumentation,
  isDecision: (node) =>
    DECISIONS.has(node.name) || (node.name === 'MatchClause' && !takesEverything(node.node)),
  isValidAfterAll,
  imports: new Set(['ImportStatement']),
  importedBy,
};

/** A docstring: a bare string that is the first statement of a module, class or function. */
function isDocumentation(ref: SyntaxNodeRef): boolean {
  if (ref.name !== 'ExpressionStatement') return false;
  const { node } = ref;
  if (node.firstChild?.name !== 'String' || node.firstChild.nextSibling !== null) return false;
  let before = node.prevSibling;
  while (before?.name === COMMENT) before = before.prevSibling;
  if (before === null) return node.parent?.name === 'Script';
  const owner = node.parent?.parent?.name;
  return before.name === ':' && (owner === 'FunctionDefinition' || owner === 'ClassDefinition');
}

/** `case _:` and `case name:` without a guard are like `default` in other languages. */
function takesEverything(clause: SyntaxNode): boolean {
  return clause.getChild('CapturePattern') !== null && clause.getChild('Guard') === null;
}

/** An empty `yield`, and numbers such as `1.`. */
function isValidAfterAll({ from, to, parent }: SyntaxNode): boolean {
  if (from !== to) return false;
  const name = parent?.name;
  if (name === 'YieldStatement' || name === 'YieldExpression') return true;
  return name === 'MemberExpression' && parent!.firstChild?.name === 'Number';
}

function importedBy(statement: SyntaxNode, source: string): readonly string[] {
  const first = statement.firstChild;
  if (first?.name === 'from') {
    const end = statement.getChild('import')?.from ?? statement.to;
    return [source.slice(first.to, end).trim()];
  }
  const modules: string[] = [];
  let module = '';
  let isAlias = false;
  for (let child = first?.nextSibling; child; child = child.nextSibling) {
    if (child.name === ',') {
      modules.push(module);
      module = '';
      isAlias = false;
    } else if (child.name === 'as') isAlias = true;
    else if (!isAlias && (child.name === 'VariableName' || child.name === '.')) {
      module += textOf(child, source);
    }
  }
  return [...modules, module].filter((name) => name !== '');
}
