import type { CodeFacts } from './facts.ts';
import type { Grammar } from './languages.ts';
import { Lines } from './lines.ts';
import { SourceWalk } from './walk.ts';

/** Parser steps between two pauses. */
const STRIDE = 16;
/** The share of parsing in the work; walking the tree is the rest. */
const PARSING = 0.9;

/**
 * Analyzes a source file. Yields the completed share every millisecond or so, for callers that do not want to block;
 * see `inSlices`. Keeps the first `limit` entries of each list.
 */
export function* analyse(source: string, grammar: Grammar, limit: number): Generator<number, CodeFacts> {
  const lines = yield* withShare(Lines.of(source), 0);
  const parse = grammar.parser.startParse(source);
  let tree = parse.advance();
  for (let steps = 1; tree === null; steps++) {
    if (steps % STRIDE === 0) yield (PARSING * parse.parsedPos) / source.length;
    tree = parse.advance();
  }
  yield PARSING;
  const walk = new SourceWalk(grammar, source, lines, limit);
  yield* withShare(walk.over(tree), PARSING);
  const counts = yield* withShare(lines.count(source, walk.comments), PARSING);
  const { functions, classes, imports, syntaxErrors, topLevelDecisions, longest } = walk;
  const { totalComplexity, maxComplexity } = walk;
  return {
    language: grammar.language,
    lines: counts,
    functions,
    classes,
    imports,
    syntaxErrors,
    totalComplexity,
    maxComplexity,
    topLevelDecisions,
    longest,
  };
}

function* withShare<T>(steps: Generator<void, T>, share: number): Generator<number, T> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    yield share;
  }
}
