import { execFile } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import ts from 'typescript';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { VolleyError } from '../../src/core/errors.ts';
import { isTool } from '../../src/tools/define-tool.ts';
import { loadToolModules } from '../../src/tools/modules.ts';
import { rejectionOf } from '../engine/support/errors.ts';

const DEFINE = `import { defineTool } from ${JSON.stringify(new URL('../../src/tools/define-tool.ts', import.meta.url).href)};\n`;
/** A module with one tool as its default export. */
const withTool = (name: string, more = '') =>
  `${DEFINE}export default defineTool({ name: '${name}', run: () => '${name}' ${more} });`;

function folderWith(files: Record<string, string>): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'volley-modules-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

async function namesOf(files: Record<string, string>, ...patterns: string[]): Promise<string[]> {
  return (await loadToolModules(patterns, folderWith(files))).map(({ name }) => name);
}

async function errorOf(files: Record<string, string>, ...patterns: string[]) {
  const folder = folderWith(files);
  const error = (await rejectionOf(loadToolModules(patterns, folder))) as VolleyError;
  return `${error.code}: ${error.message.replaceAll(`${folder}/`, '').replaceAll(folder, '.')}`;
}

describe('the modules of a user', () => {
  it('are found by globs and paths: in the order of the patterns, then of the paths, each once', async () => {
    const files = {
      'tools/b.mjs': withTool('b'),
      'tools/a.mjs': withTool('a'),
      'tools/deep/c.mjs': withTool('c'),
      'tools/note.txt': 'no module',
      'last/z.mjs': withTool('z'),
    };
    expect(await namesOf(files, './tools/*.mjs')).toEqual(['a', 'b']);
    expect(await namesOf(files, 'last/z.mjs', './tools/**/*.mjs', './tools/a.mjs')).toEqual([
      'z',
      'a',
      'b',
      'c',
    ]);
    expect(await namesOf(files, './tools/{b,a}.mjs', '*/deep/?.mjs')).toEqual(['a', 'b', 'c']);
    expect(await namesOf(files)).toEqual([]);
  });

  it('may lie in a folder whose name looks like a glob', async () => {
    expect(await namesOf({ 'my [tools]/a.mjs': withTool('a') }, './my [tools]/a.mjs')).toEqual(['a']);
    const folder = folderWith({ 'odd[1]/tools/a.mjs': withTool('a') });
    expect(await loadToolModules(['tools/*.mjs'], join(folder, 'odd[1]'))).toHaveLength(1);
  });

  it('are not looked for in node_modules, and each counts once however many links lead to it', async () => {
    const folder = folderWith({ 'a.mjs': withTool('a'), 'node_modules/x/b.mjs': withTool('b') });
    symlinkSync('a.mjs', join(folder, 'link.mjs'));
    expect((await loadToolModules(['**/*.mjs'], folder)).map(({ name }) => name)).toEqual(['a']);
  });

  it('may export tools as the default, by name and in lists, next to other things', async () => {
    const text = `${DEFINE}
      const tool = (name) => defineTool({ name, run: () => name });
      export const second = tool('second');
      export const list = [tool('one'), tool('two')];
      export const alias = second;
      export const VERSION = 3;
      export default [tool('first'), second];`;
    expect(await namesOf({ 'a.mjs': text }, 'a.mjs')).toEqual(['first', 'second', 'one', 'two']);
  });
});

describe('a tool of a module', () => {
  const text = `${DEFINE}
    export const here = defineTool({ name: 'here', run: () => 1 });
    export const there = defineTool({ name: 'there', isolation: 'thread', run: () => 2 });
    export const more = [defineTool({ name: 'far', isolation: 'process', run: () => 3 })];
    export const given = defineTool({ name: 'given', isolation: 'process', module: 'file:///x.mjs' });`;

  it('is found by path in another thread or process', async () => {
    const folder = folderWith({ 'a.mjs': text });
    const tools = new Map((await loadToolModules(['a.mjs'], folder)).map((tool) => [tool.name, tool]));
    const { href: url } = pathToFileURL(join(folder, 'a.mjs'));
    expect(tools.get('here')!.code).toMatchObject({ kind: 'function' });
    expect(tools.get('there')!.code).toEqual({ kind: 'module', url, exportName: 'there' });
    expect(tools.get('far')!.code).toEqual({ kind: 'module', url, exportName: 'more' });
    expect(tools.get('given')!.code).toEqual({
      kind: 'module',
      url: 'file:///x.mjs',
      exportName: 'default',
    });
    expect([...tools.values()].every(isTool)).toBe(true);
    expect(tools.get('there')).toMatchObject({ isolation: 'thread', name: 'there' });
  });
});

describe('a module that is refused', () => {
  it.each([
    ['is not there', {}, './a.mjs', 'The modules "./a.mjs": there is no file a.mjs.'],
    [
      'is a folder',
      { 'a/x.mjs': '' },
      './a/',
      'The modules "./a/": a is a folder: name its files, such as "./a/*.mjs".',
    ],
    ['no file matches', { 'a/x.js': '' }, 'a/*.mjs', 'The modules "a/*.mjs": no file in a matches it.'],
    [
      'exports nothing',
      { 'a.mjs': '' },
      'a.mjs',
      'The module a.mjs: it exports no tools. It exports nothing;',
    ],
    [
      'exports no tools',
      { 'a.mjs': `export const x = 1; export const l = [1]; export default { name: 'a', run() {} };` },
      'a.mjs',
      'l (a list without tools) and x (a number);',
    ],
    [
      'throws an error',
      { 'a.mjs': `throw new TypeError('no luck')` },
      'a.mjs',
      'it failed when it was loaded: TypeError: no luck',
    ],
    ['throws something else', { 'a.mjs': `throw 'soup'` }, 'a.mjs', 'it threw "soup" when it was loaded.'],
    ['defines a tool wrongly', { 'a.mjs': withTool('a b') }, 'a.mjs', 'VolleyError: A tool name must be'],
  ])('because it %s says so', async (_, files: Record<string, string>, pattern, text) => {
    const error = await errorOf(files, pattern);
    expect(error).toMatch(/^INVALID_MODULE: /);
    expect(error).toContain(text);
  });

  it('because another has a tool of the same name is named with the other', async () => {
    const files = {
      'a.mjs': withTool('same'),
      'b.mjs': `${DEFINE}export const x = defineTool({ name: 'same', run() {} });`,
    };
    expect(await errorOf(files, '*.mjs')).toMatch(/^DUPLICATE_TOOL: .*same.*a\.mjs.*b\.mjs/);
  });
});

describe('what Node refuses', () => {
  /** What people read when plain Node (the tests themselves load modules in another way) cannot import a file. */
  async function refusalOf(files: Record<string, string>, file: string): Promise<string> {
    const source = readFileSync(new URL('../../src/tools/import-failure.ts', import.meta.url), 'utf8');
    const compiled = ts.transpileModule(source, {
      compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
    }).outputText;
    const run = `
      import { importFailureText } from './import-failure.mjs';
      const file = process.argv[2];
      try { await import(file); console.log('loaded'); } catch (error) { console.log(await importFailureText(error, file)); }`;
    const folder = folderWith({ ...files, 'import-failure.mjs': compiled, 'run.mjs': run });
    const { stdout } = await promisify(execFile)(process.execPath, [
      join(folder, 'run.mjs'),
      join(folder, file),
    ]);
    return stdout.trim().replaceAll(`file://${folder}/`, '').replaceAll(`${folder}/`, '');
  }

  it.each([['a.mjs'], ['a.cjs']])('because of its syntax is shown with the place: %s', async (file) => {
    const text = await refusalOf({ [file]: '// first line\nconst b = = 2;\n' }, file);
    expect(text).toContain("Unexpected token '='.");
    expect(text).toContain(`${file}:2\nconst b = = 2;\n          ^`);
  });

  it('because of the syntax of another module says that it is another', async () => {
    const text = await refusalOf({ 'a.mjs': `import './b.mjs';`, 'b.mjs': 'const = 1' }, 'a.mjs');
    expect(text).toContain("Unexpected token '='. The error is in a module");
  });

  it('because it imports what is not exported, or not there, is shown with its name', async () => {
    const files = {
      'a.mjs': `import { nothing } from './b.mjs';`,
      'b.mjs': '',
      'c.mjs': `import './gone.mjs';`,
    };
    expect(await refusalOf(files, 'a.mjs')).toContain("does not provide an export named 'nothing'");
    expect(await refusalOf(files, 'c.mjs')).toContain('gone.mjs');
  });

  it('because it threw is shown with the place', async () => {
    const text = await refusalOf(
      { 'a.mjs': 'function f() {\n  throw new RangeError("far");\n}\nf();' },
      'a.mjs',
    );
    expect(text).toMatch(/RangeError: far\n {4}at f \(a\.mjs:2:9\)$/);
  });

  it('because it is TypeScript, where this Node cannot run that, says what to do', async () => {
    const { features } = process as { features: { typescript?: string | false } };
    const text = await refusalOf({ 'a.ts': 'export const x: number = 1;' }, 'a.ts');
    expect(text).toContain(features.typescript ? 'loaded' : '--import tsx');
  });
});
