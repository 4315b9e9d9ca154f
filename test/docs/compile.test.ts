import { join } from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { ROOT, read } from './markdown.ts';
import { exampleFiles } from './regions.ts';

/** JavaScript of the docs must also compile as TypeScript, so it gets a name of that kind. */
const programs = new Map(
  exampleFiles().map((file) => [join(ROOT, file.replace(/\.mjs$/, '.ts')), read(file)]),
);
const typeTests = join(ROOT, 'test/library-types.test.ts');

it('every program of the docs compiles under strict settings, and every type is the one that is promised', () => {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT);
  expect(options).toMatchObject({ strict: true, exactOptionalPropertyTypes: true });
  const host = ts.createCompilerHost(options);
  const { readFile, fileExists } = host;
  host.readFile = (path) => programs.get(path) ?? readFile(path);
  host.fileExists = (path) => programs.has(path) || fileExists(path);
  const program = ts.createProgram([...programs.keys(), typeTests], options, host);
  // Only these files are checked: `npm run typecheck` checks the rest.
  const problems = [...programs.keys(), typeTests].flatMap((path) => {
    const file = program.getSourceFile(path)!;
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
  });
  expect(ts.formatDiagnostics(problems, host)).toBe('');
});
