import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { analyse } from '../../../../src/tools/analysis/analyse.ts';
import type { CodeFacts } from '../../../../src/tools/analysis/facts.ts';
import { KNOWN_EXTENSIONS, loadGrammar } from '../../../../src/tools/analysis/languages.ts';

/** The text of a sample. On disk it has `.txt` at its end, so that no other tool takes it for code of this project. */
export function sample(name: string): string {
  return readFileSync(new URL(`../samples/${name}.txt`, import.meta.url), 'utf8');
}

const grammars = new Map(
  await Promise.all(
    KNOWN_EXTENSIONS.map(async (extension) => [extension, await loadGrammar(`a${extension}`)] as const),
  ),
);

/** Runs the analysis to its end at once. */
export function factsOf(name: string, source: string, limit = Number.POSITIVE_INFINITY): CodeFacts {
  const work = analyse(source, grammars.get(extname(name))!, limit);
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

/** The functions as `name line-end complexity parameters`. */
export function functionsOf(facts: CodeFacts): string[] {
  return facts.functions.first.map(
    ({ name, line, endLine, complexity, parameters }) =>
      `${name} ${line}-${endLine} ${complexity} ${parameters}`,
  );
}
