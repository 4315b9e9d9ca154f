import { readdirSync, readFileSync } from 'node:fs';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { factsOf } from './support/sample.ts';

const DECISIONS = new Set([
  ts.SyntaxKind.IfStatement,
  ts.SyntaxKind.ForStatement,
  ts.SyntaxKind.ForInStatement,
  ts.SyntaxKind.ForOfStatement,
  ts.SyntaxKind.WhileStatement,
  ts.SyntaxKind.DoStatement,
  ts.SyntaxKind.CaseClause,
  ts.SyntaxKind.CatchClause,
  ts.SyntaxKind.ConditionalExpression,
]);
const OPERATORS = new Set(['&&', '||', '??', '&&=', '||=', '??=']);

/** The functions as `line-end complexity parameters`, by the compiler's own parser. */
function functionsByCompiler(text: string): string[] {
  const file = ts.createSourceFile('a.ts', text, ts.ScriptTarget.Latest, true);
  const lineAt = (position: number) => file.getLineAndCharacterOfPosition(position).line + 1;
  const found: { start: number; end: number; complexity: number; parameters: number }[] = [];
  const open: { complexity: number }[] = [{ complexity: 0 }];
  const visit = (node: ts.Node): void => {
    const isOperator = ts.isBinaryExpression(node) && OPERATORS.has(node.operatorToken.getText(file));
    if (isOperator || DECISIONS.has(node.kind)) open.at(-1)!.complexity++;
    const isFunction = ts.isFunctionLike(node) && 'body' in node && node.body !== undefined;
    if (isFunction) {
      const entry = {
        start: lineAt(node.getStart(file)),
        end: lineAt(node.end - 1),
        complexity: 1,
        parameters: node.parameters.filter(({ name }) => name.getText(file) !== 'this').length,
      };
      found.push(entry);
      open.push(entry);
    }
    ts.forEachChild(node, visit);
    if (isFunction) open.pop();
  };
  visit(file);
  return found.map(({ start, end, complexity, parameters }) => `${start}-${end} ${complexity} ${parameters}`);
}

const root = new URL('../../../src/core/', import.meta.url);
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

test('finds the same functions in the core as the TypeScript compiler', {
  timeout: 180_000,
}, () => {
  let functions = 0;
  for (const name of files) {
    const text = readFileSync(new URL(name, root), 'utf8');
    const facts = factsOf('a.ts', text);
    // Where the parser stumbles it says so; the figures of such a file are not promised.
    if (facts.syntaxErrors.count > 0) continue;
    const ours = facts.functions.first.map((f) => `${f.line}-${f.endLine} ${f.complexity} ${f.parameters}`);
    expect(ours, name).toEqual(functionsByCompiler(text));
    functions += ours.length;
  }
  expect(functions).toBeGreaterThan(300);
});
