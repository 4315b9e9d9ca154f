import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import ts from 'typescript';

/** The files that are loaded with one, and the packages that they name. */
export interface ImportGraph {
  readonly files: readonly string[];
  readonly packages: readonly string[];
}

/** Follows what a file imports when it is loaded; with `types` also what only its types need. */
export function importGraph(entry: string, { types = false } = {}): ImportGraph {
  const files = new Set<string>();
  const packages = new Set<string>();
  const open = [resolve(entry)];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (files.has(file)) continue;
    files.add(file);
    for (const specifier of importsOf(file, types)) {
      if (specifier.startsWith('.')) open.push(resolve(dirname(file), specifier));
      else if (!specifier.startsWith('node:')) packages.add(specifier);
    }
  }
  return { files: [...files].sort(), packages: [...packages].sort() };
}

function importsOf(file: string, types: boolean): string[] {
  const { statements } = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
  return statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
    const { moduleSpecifier } = statement;
    if (moduleSpecifier === undefined || (!types && isTypeOnly(statement))) return [];
    return [(moduleSpecifier as ts.StringLiteral).text];
  });
}

function isTypeOnly(statement: ts.ImportDeclaration | ts.ExportDeclaration): boolean {
  if (ts.isExportDeclaration(statement)) return statement.isTypeOnly || onlyTypes(statement.exportClause);
  const clause = statement.importClause;
  if (clause === undefined) return false;
  return clause.isTypeOnly || (clause.name === undefined && onlyTypes(clause.namedBindings));
}

function onlyTypes(bindings: ts.NamedImportBindings | ts.NamedExportBindings | undefined): boolean {
  if (bindings === undefined || !('elements' in bindings) || bindings.elements.length === 0) return false;
  return bindings.elements.every(({ isTypeOnly }) => isTypeOnly);
}
