import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

/** From low to high. A layer may import itself and what stands before it. */
const LAYERS = [
  'core',
  'engine',
  'runners',
  'script',
  'tools',
  'config',
  'coordinator',
  'cluster',
  'store',
  'git',
  'agents',
  'batch',
  'tasks',
  'mcp',
  'server',
  'cli',
];
const ENTRY = 'src/index.ts';

/** What the core may not mention: clocks, timers, randomness, input and output, and ways around this list. */
const IMPURE_GLOBALS = new Set(
  `process performance Date Temporal crypto Buffer console setTimeout setInterval setImmediate clearTimeout
  clearInterval clearImmediate queueMicrotask fetch require module globalThis global window self NodeJS
  __dirname __filename`.split(/\s+/),
);

type Rule = 'core-is-pure' | 'imports-point-down' | 'known-layer';

/** Each violation reads `src/core/graph.ts:12 [core-is-pure] …`. */
function violationsOf(file: string, text: string): string[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const layer = layerOf(file);
  const found: string[] = [];
  const report = (position: number, rule: Rule, what: string) => {
    const line = source.getLineAndCharacterOfPosition(position).line + 1;
    found.push(`${file}:${line} [${rule}] ${what}`);
  };

  if (file !== ENTRY && !LAYERS.includes(layer)) {
    const known = LAYERS.join(', ');
    report(0, 'known-layer', `"${layer}" is no layer; move the file, or give it a place among ${known}`);
  }
  for (const reference of [...source.typeReferenceDirectives, ...source.referencedFiles]) {
    if (layer === 'core') report(reference.pos, 'core-is-pure', `references "${reference.fileName}"`);
  }

  const visit = (node: ts.Node) => {
    const specifier = importedBy(node);
    if (specifier !== undefined) {
      const problem = importProblem(file, specifier);
      if (problem) report(node.getStart(source), ...problem);
    }
    if (layer === 'core') {
      const mention = impureMention(node);
      if (mention) report(node.getStart(source), 'core-is-pure', `mentions ${mention}; make it an argument`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** The first folder below src, or the file's own name where it stands in src itself. */
function layerOf(file: string): string {
  return file.split('/')[1] ?? file;
}

/** What a node imports, by whichever syntax; `null` where the name is computed. */
function importedBy(node: ts.Node): string | null | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
    return node.moduleSpecifier && textOf(node.moduleSpecifier);
  }
  if (ts.isExternalModuleReference(node)) return textOf(node.expression);
  if (ts.isImportTypeNode(node))
    return ts.isLiteralTypeNode(node.argument) ? textOf(node.argument.literal) : null;
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    return textOf(node.arguments[0]);
  }
  return undefined;
}

function textOf(node: ts.Node | undefined): string | null {
  return node && ts.isStringLiteralLike(node) ? node.text : null;
}

function importProblem(file: string, specifier: string | null): [Rule, string] | undefined {
  const layer = layerOf(file);
  if (specifier === null) {
    return layer === 'core' ? ['core-is-pure', 'imports a computed name'] : undefined;
  }
  const isSelf = specifier === 'volley' || specifier.startsWith('volley/');
  if (!specifier.startsWith('.') && !isSelf) {
    return layer === 'core'
      ? ['core-is-pure', `imports "${specifier}", which is not part of core`]
      : undefined;
  }

  const target = isSelf ? ENTRY : posix.join(posix.dirname(file), specifier);
  if (!target.startsWith('src/'))
    return ['imports-point-down', `imports "${specifier}", which is outside src`];
  const targetLayer = layerOf(target);
  if (layer === 'core' && targetLayer !== 'core') {
    return ['core-is-pure', `imports "${specifier}", which is not part of core`];
  }
  if (file === ENTRY || targetLayer === layer) return undefined;
  const [own, other] = [LAYERS.indexOf(layer), LAYERS.indexOf(targetLayer)];
  // A layer that is unknown here is reported once, by known-layer, at the file itself.
  if (own < 0 || (other >= 0 && other < own)) return undefined;
  const place = other < 0 ? 'on top of all layers' : `above "${layer}"`;
  return ['imports-point-down', `imports "${specifier}": "${targetLayer}" is ${place}`];
}

/** The forbidden global that an identifier stands for; a member that merely has such a name is fine. */
function impureMention(node: ts.Node): string | undefined {
  if (!ts.isIdentifier(node) || isMemberName(node)) return undefined;
  if (node.text !== 'Math') return IMPURE_GLOBALS.has(node.text) ? node.text : undefined;
  // Math is pure but for one member. Taken as a whole (`const { random } = Math`) it cannot be followed.
  const use = node.parent;
  if (ts.isPropertyAccessExpression(use)) return use.name.text === 'random' ? 'Math.random' : undefined;
  return 'Math other than as Math.member';
}

function isMemberName(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.name === node;
  if (ts.isQualifiedName(parent)) return parent.right === node;
  if (ts.isBindingElement(parent) || ts.isImportSpecifier(parent) || ts.isExportSpecifier(parent)) {
    return parent.propertyName === node;
  }
  const isMember =
    ts.isPropertyAssignment(parent) ||
    ts.isEnumMember(parent) ||
    ts.isTypeElement(parent) ||
    ts.isClassElement(parent);
  return isMember && parent.name === node;
}

/** The folders that each folder imports, by any of its files. */
function folderImports(texts: Iterable<readonly [file: string, text: string]>): Map<string, Set<string>> {
  const imports = new Map<string, Set<string>>();
  for (const [file, text] of texts) {
    const folder = posix.dirname(file);
    const targets = imports.get(folder) ?? new Set();
    imports.set(folder, targets);
    const visit = (node: ts.Node) => {
      const specifier = importedBy(node);
      if (specifier?.startsWith('.')) targets.add(posix.dirname(posix.join(folder, specifier)));
      ts.forEachChild(node, visit);
    };
    visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest));
    targets.delete(folder);
  }
  return imports;
}

/** The sets of folders in which each reaches each other one. */
function folderCycles(imports: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const reachable = new Map([...imports.keys()].map((folder) => [folder, reachableFrom(folder, imports)]));
  const cycles = new Map<string, string[]>();
  for (const [folder, targets] of reachable) {
    const cycle = [...targets].filter((target) => reachable.get(target)?.has(folder)).sort();
    if (targets.has(folder)) cycles.set(cycle.join(), cycle);
  }
  return [...cycles.values()];
}

function reachableFrom(start: string, imports: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const found = new Set<string>();
  const open = [start];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for (const target of imports.get(folder) ?? []) {
      if (found.has(target)) continue;
      found.add(target);
      open.push(target);
    }
  }
  return found;
}

const root = new URL('../', import.meta.url);
const files = readdirSync(new URL('src/', root), { recursive: true, encoding: 'utf8' })
  .map((name) => `src/${name.replaceAll('\\', '/')}`)
  .filter((name) => /\.[cm]?[jt]sx?$/.test(name))
  .sort();

describe('the source tree', () => {
  const violations = files.flatMap((file) =>
    violationsOf(file, readFileSync(fileURLToPath(new URL(file, root)), 'utf8')),
  );
  const expectNone = (rule: Rule) => {
    const broken = violations.filter((violation) => violation.includes(` [${rule}] `));
    if (broken.length > 0) expect.fail(`${broken.length} found:\n  ${broken.join('\n  ')}`);
  };

  test('has an entry to be checked', () => expect(files).toContain(ENTRY));
  test('keeps the core free of imports, clocks, timers, randomness and I/O', () =>
    expectNone('core-is-pure'));
  test('has imports that point down only', () => expectNone('imports-point-down'));
  test('has no file outside the known layers', () => expectNone('known-layer'));
});

test('the folders of src import each other in no circle', () => {
  const texts = files.map(
    (file) => [file, readFileSync(fileURLToPath(new URL(file, root)), 'utf8')] as const,
  );
  expect(folderCycles(folderImports(texts))).toEqual([]);
});

describe('the check of folders', () => {
  const cycles = (texts: Record<string, string>) => folderCycles(folderImports(Object.entries(texts)));

  test('finds folders that import each other, also by way of a third', () => {
    expect(
      cycles({
        'src/a/x/one.ts': `import { two } from '../y/two.ts';`,
        'src/a/y/two.ts': `export type { Three } from '../three.ts';`,
        'src/a/three.ts': `const late = await import('./x/one.ts');`,
      }),
    ).toEqual([['src/a', 'src/a/x', 'src/a/y']]);
  });

  test('allows a folder that imports below and beside it', () => {
    expect(
      cycles({
        'src/a/one.ts': `import { two } from './x/two.ts';`,
        'src/a/x/two.ts': `import { three } from '../y/three.ts'; import { four } from './four.ts';`,
        'src/a/y/three.ts': `import { read } from 'node:fs';`,
      }),
    ).toEqual([]);
  });
});

describe('the check itself', () => {
  /** Rules broken by a file with this text, as `line rule`. */
  const broken = (file: string, text: string) =>
    violationsOf(file, text).map((violation) => violation.replace(/^\S+:(\d+) \[(.+?)\].*$/s, '$1 $2'));

  test.each([
    `import { now } from 'node:perf_hooks';`,
    `import type { Readable } from 'stream';`,
    `export { default } from 'fastq';`,
    `export type Late = import('../engine/clock.ts').Clock;`,
    `import { Engine } from '../engine/engine.ts';`,
    `import entry from '../index.ts';`,
    `const late = await import('../engine/clock.ts');`,
    `const late = await import(name);`,
    `import fs = require('fs');`,
    `/// <reference types="node" />`,
    `const start = Date.now();`,
    `const jitter = Math.random();`,
    `const { random } = Math;`,
    `const jitter = Math['random']();`,
    `setTimeout(wake, 10);`,
    `const shell = { console };`,
    `let bytes: Buffer;`,
    `let timer: NodeJS.Timeout;`,
    `globalThis.process.exit();`,
    `const text = \`\${performance.now()}\`;`,
  ])('finds in the core: %s', (text) => {
    expect(broken('src/core/a.ts', `\n${text}\n`)).toContain('2 core-is-pure');
  });

  test.each([
    `import { Heap } from './heap.ts';`,
    `import { Graph } from '../core/graph.ts';`,
    `const most = Math.max(1, 2);`,
    `// Date.now, setTimeout and Math.random belong to the engine`,
    `const words = 'process.exit';`,
    `const needs = { process: 1, console: 2 };`,
    `const cpu = needs.process + demand.performance;`,
    `interface Runner { process(): void; readonly Buffer: number }`,
    `class Runner { process() {} performance = 1; }`,
    `const { process: runner } = runners;`,
  ])('allows in the core: %s', (text) => {
    expect(broken('src/core/a.ts', text)).toEqual([]);
  });

  test('forbids every import of a higher layer and allows every import of a lower one', () => {
    for (const [own, layer] of LAYERS.entries()) {
      for (const [other, target] of LAYERS.entries()) {
        const rule = layer === 'core' ? '1 core-is-pure' : '1 imports-point-down';
        const text = `import { x } from '../../${target}/deep/x.ts';`;
        expect(broken(`src/${layer}/deep/a.ts`, text), `${layer} imports ${target}`).toEqual(
          other > own ? [rule] : [],
        );
      }
      expect(broken(ENTRY, `export { x } from './${layer}/x.ts';`)).toEqual([]);
    }
  });

  test('lets nothing import the entry, by path or by the name of the package', () => {
    expect(broken('src/cli/run.ts', `import { x } from '../index.ts';`)).toEqual(['1 imports-point-down']);
    expect(broken('src/cli/run.ts', `import { x } from 'volley';`)).toEqual(['1 imports-point-down']);
  });

  test('lets nothing in src reach out of src', () => {
    expect(broken(ENTRY, `import { x } from '../test/x.ts';`)).toEqual(['1 imports-point-down']);
    expect(broken('src/engine/a.ts', `import { x } from '../../package.json';`)).toEqual([
      '1 imports-point-down',
    ]);
  });

  test('lets the layers above the core use Node and packages', () => {
    expect(broken('src/engine/a.ts', `import { x } from 'node:os'; setTimeout(x, Date.now());`)).toEqual([]);
  });

  test('names a folder that is no layer', () => {
    expect(broken('src/misc/a.ts', '')).toEqual(['1 known-layer']);
    expect(broken('src/helpers.ts', '')).toEqual(['1 known-layer']);
  });

  test('says file, line and rule', () => {
    expect(violationsOf('src/core/a.ts', `\nimport { x } from '../cli/x.ts';`)).toEqual([
      'src/core/a.ts:2 [core-is-pure] imports "../cli/x.ts", which is not part of core',
    ]);
  });
});
