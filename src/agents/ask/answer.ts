import { VolleyError } from '../../core/errors.ts';
import { reasonText } from '../../core/words.ts';
import type { Spending } from '../../runners/runner.ts';
import {
  type CompiledSchema,
  compileJsonSchema,
  describeIssues,
  type JsonSchema,
} from '../../tools/schema.ts';

/** An answer that was not accepted. The next question contains it. */
export interface Rejected {
  readonly answer: string;
  readonly problem: string;
}

/** What was said, and what it cost. */
export interface Said extends Spending {
  readonly text: string;
  /** Why it cannot be accepted whatever it says, if so. */
  readonly problem?: string | undefined;
}

export interface Accepted<T = unknown> {
  readonly answer: T;
  /** How often it was asked. */
  readonly asks: number;
  readonly spending: Spending;
}

/** Returns an answer as data, or what is wrong with it. */
export type AnswerCheck<T = unknown> = (
  text: string,
) => Promise<{ readonly answer: T } | { readonly problem: string }>;

const MAX_PROBLEM_LENGTH = 2000;
const MAX_QUOTED_LENGTH = 20_000;
/** The schemas of a process that are kept compiled. */
const MAX_SCHEMAS = 50;

/**
 * Asks until an answer is accepted, each time with what was wrong with the last one. Throws `INVALID_ANSWER` after
 * `maxAsks`, and what `ask` throws at once.
 */
export async function askUntilAccepted<T>(
  ask: (rejected: Rejected | undefined) => Promise<Said>,
  check: AnswerCheck<T>,
  maxAsks: number,
  onRejected: (problem: string) => void,
): Promise<Accepted<T>> {
  let rejected: Rejected | undefined;
  let spending: Spending = { inputTokens: 0, outputTokens: 0, costUsd: 0 };
  for (let asks = 1; asks <= maxAsks; asks++) {
    const said = await ask(rejected);
    spending = sum(spending, said);
    const checked = said.problem === undefined ? await check(said.text) : { problem: said.problem };
    if ('answer' in checked) return { answer: checked.answer, asks, spending };
    const problem = cut(checked.problem, MAX_PROBLEM_LENGTH);
    rejected = { answer: cut(said.text, MAX_QUOTED_LENGTH), problem };
    onRejected(problem);
  }
  const times = maxAsks === 1 ? 'The answer was' : `All ${maxAsks} answers were`;
  const message = `${times} not accepted. The last one: ${rejected!.problem}`;
  throw Object.assign(new VolleyError('INVALID_ANSWER', message, { asks: maxAsks }), { retryable: false });
}

/** Accepts any text that is not empty, or JSON that matches a schema. */
export function answerCheck(schema: JsonSchema | undefined): AnswerCheck {
  if (schema === undefined)
    return async (text) => (text.trim() === '' ? { problem: 'The answer is empty.' } : { answer: text });
  const compiled = compiledSchema(schema);
  return async (text) => {
    const found = jsonIn(text);
    if ('problem' in found) return found;
    const result = await compiled.check(found.value);
    return result.ok
      ? { answer: result.value }
      : { problem: `The JSON does not match the schema: ${describeIssues(result.issues)}.` };
  };
}

/** What is wrong with a JSON Schema, if anything. */
export function schemaProblem(schema: JsonSchema): string | undefined {
  try {
    compiledSchema(schema);
    return undefined;
  } catch (error) {
    return reasonText(error);
  }
}

/** Throws if the schema cannot judge anything, such as one with a reference to nothing. Before an answer is paid for. */
export async function requireUsable(schema: JsonSchema | undefined): Promise<void> {
  if (schema !== undefined) await compiledSchema(schema).check(null);
}

const schemas = new Map<string, CompiledSchema>();

function compiledSchema(schema: JsonSchema): CompiledSchema {
  const key = JSON.stringify(schema);
  const known = schemas.get(key);
  if (known !== undefined) return known;
  const compiled = compileJsonSchema(schema, 'output', 'the answer');
  if (schemas.size >= MAX_SCHEMAS) schemas.delete(schemas.keys().next().value!);
  schemas.set(key, compiled);
  return compiled;
}

/** The JSON value in an answer: all of it, in its last code block, or between its first and last brace. */
export function jsonIn(text: string): { readonly value: unknown } | { readonly problem: string } {
  const whole = text.trim();
  // Not `\s`, which would search all that follows from each of many empty lines.
  const blocks = whole.split(/^[ \t]*```\w*[ \t\r]*$/m);
  // Text and code alternate, so the last code block is second to last.
  const block = blocks.length >= 3 ? blocks.at(blocks.length % 2 === 1 ? -2 : -1) : undefined;
  let problem = 'it is empty';
  for (const candidate of [whole, block, between(whole, '{', '}'), between(whole, '[', ']')]) {
    if (candidate === undefined || candidate.trim() === '') continue;
    try {
      return { value: JSON.parse(candidate) };
    } catch (error) {
      if (candidate === whole) problem = reasonText(error);
    }
  }
  return { problem: `The answer is not JSON: ${problem}.` };
}

function between(text: string, first: string, last: string): string | undefined {
  const [start, end] = [text.indexOf(first), text.lastIndexOf(last)];
  return start >= 0 && end > start ? text.slice(start, end + 1) : undefined;
}

/** How the answer has to look. */
export function schemaText(schema: JsonSchema): string {
  return `Answer with one JSON value that matches this JSON Schema, and with nothing else:\n\n${JSON.stringify(schema)}`;
}

export function rejectionText({ problem }: Rejected): string {
  return `Your last answer was not accepted: ${problem}\n\nAnswer again, and correct this.`;
}

function sum(a: Spending, b: Spending): Spending {
  const isPriced = a.costUsd !== undefined && b.costUsd !== undefined;
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    ...(isPriced && { costUsd: a.costUsd! + b.costUsd! }),
  };
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}
