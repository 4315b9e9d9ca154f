import type { SyntaxNode, SyntaxNodeRef } from '@lezer/common';
import { parser } from '@lezer/javascript';
import { type Grammar, textOf } from './languages.ts';

const DECISIONS = new Set(['if', 'for', 'while', 'case', 'catch', 'ConditionalExpression']);
const SHORT_CIRCUITS = new Set(['&&', '||', '??', '&&=', '||=', '??=']);

const ECMASCRIPT: Omit<Grammar, 'language' | 'parser'> = {
  functions: new Set([
    'FunctionDeclaration',
    'FunctionExpression',
    'ArrowFunction',
    'MethodDeclaration',
    // An object method: only such a property has a block as a direct child.
    'Property',
  ]),
  expressionFunctions: new Set(['ArrowFunction']),
  body: 'Block',
  classes: new Set(['ClassDeclaration', 'ClassExpression']),
  names: new Set([
    'VariableDefinition',
    'VariableName',
    'PropertyDefinition',
    'PrivatePropertyDefinition',
    'MemberExpression',
    'String',
    'Number',
    // The opening bracket of a computed name.
    '[',
  ]),
  assigners: new Set(['Equals', ':']),
  annotations: new Set(['TypeAnnotation', 'Optional', 'LogicOp']),
  decorators: new Set(['Decorator']),
  parameters: new Set(['VariableDefinition', 'ObjectPattern', 'ArrayPattern']),
  comments: new Set(['LineComment', 'BlockComment', 'Hashbang']),
  isDocumentation: () => false,
  isDecision,
  isValidAfterAll: isJsxComment,
  imports: new Set(['ImportDeclaration', 'ExportDeclaration', 'DynamicImport', 'CallExpression']),
  importedBy,
};

export const JAVASCRIPT: Grammar = {
  ...ECMASCRIPT,
  language: 'javascript',
  parser: parser.configure({ dialect: 'jsx' }),
};

export const TYPESCRIPT: Grammar = {
  ...ECMASCRIPT,
  language: 'typescript',
  isValidAfterAll: isValidTypeScript,
  parser: parser.configure({ dialect: 'ts' }),
};

/** Separate from TypeScript, because `<T>x` is an assertion there and an element here. */
export const TSX: Grammar = {
  ...ECMASCRIPT,
  language: 'typescript',
  isValidAfterAll: isValidTypeScript,
  parser: parser.configure({ dialect: 'ts jsx' }),
};

function isDecision(node: SyntaxNodeRef, source: string): boolean {
  const { name } = node;
  // The parser uses the same node name for `?`, `:`, `!`, the `|` of types, and `&&`.
  if (name === 'LogicOp' || name === 'UpdateOp') return SHORT_CIRCUITS.has(textOf(node, source));
  return DECISIONS.has(name);
}

/** A comment between JSX tags, in its own braces. */
function isJsxComment(error: SyntaxNode): boolean {
  return error.parent?.name === 'JSXEscape' && error.prevSibling?.name === 'BlockComment';
}

/** Also `let x!: T` and `catch (error: unknown)`. */
function isValidTypeScript(error: SyntaxNode, source: string): boolean {
  const text = textOf(error, source);
  switch (error.parent?.name) {
    case 'VariableDeclaration':
      return text === '!' && error.nextSibling?.name === 'TypeAnnotation';
    case 'CatchClause': {
      const colon = text === ':' ? error : error.prevSibling;
      return colon?.prevSibling?.name === 'VariableDefinition' && textOf(colon, source) === ':';
    }
    default:
      return isJsxComment(error);
  }
}

function importedBy(node: SyntaxNode, source: string): readonly string[] {
  const text = importedText(node, source);
  return text === null ? [] : [source.slice(text.from + 1, text.to - 1)];
}

function importedText(node: SyntaxNode, source: string): SyntaxNode | null {
  switch (node.name) {
    case 'ImportDeclaration':
    case 'DynamicImport':
      return node.getChild('String');
    case 'ExportDeclaration':
      return node.getChild('from') && node.getChild('String');
    default: {
      const callee = node.firstChild;
      if (callee?.name !== 'VariableName' || textOf(callee, source) !== 'require') return null;
      const first = callee.nextSibling?.firstChild?.nextSibling;
      return first?.name === 'String' ? first : null;
    }
  }
}
