import { describe, expect, test } from 'vitest';
import { answerCheck, askUntilAccepted, jsonIn, schemaProblem } from '../../../src/agents/ask/answer.ts';

const COST = { inputTokens: 10, outputTokens: 1, costUsd: 0.5 };
const NUMBERS = { type: 'array', items: { type: 'number' } };

describe('the JSON of an answer', () => {
  test.each([
    ['{"a":1}', { a: 1 }],
    [' [1, 2]\n', [1, 2]],
    ['"text"', 'text'],
    ['Here it is:\n```json\n{"a":1}\n```\nDone.', { a: 1 }],
    ['First\n```\n{"a":1}\n```\nbetter\n```json\n{"a":2}\n```', { a: 2 }],
    ['The result is {"a":{"b":2}}.', { a: { b: 2 } }],
    ['I found [1,2] here.', [1, 2]],
    ['```json\n{"a":"```"}\n```', { a: '```' }],
  ])('is found in %j', (text, value) => expect(jsonIn(text)).toEqual({ value }));

  test.each(['', 'None.', '{"a":', '```json\n```', '{"a":1} and {"b":2}'])('is missing in %j', (text) =>
    expect(jsonIn(text)).toEqual({ problem: expect.any(String) }),
  );
});

test('an answer of empty lines is read in no time', () => {
  expect(jsonIn(`No.${'\n'.repeat(3_000_000)}Nothing.`)).toHaveProperty('problem');
});

test('an answer that is not accepted is asked for again with its problem', async () => {
  const answers = ['no', '["one"]', '[1]'];
  const heard: unknown[] = [];
  const accepted = await askUntilAccepted(
    async (rejected) => {
      heard.push(rejected);
      return { text: answers[heard.length - 1]!, ...COST };
    },
    answerCheck(NUMBERS),
    5,
    () => undefined,
  );
  expect(accepted).toEqual({
    answer: [1],
    asks: 3,
    spending: { inputTokens: 30, outputTokens: 3, costUsd: 1.5 },
  });
  expect(heard).toEqual([
    undefined,
    { answer: 'no', problem: expect.stringContaining('not JSON') },
    { answer: '["one"]', problem: expect.stringContaining('number') },
  ]);
});

test('asking ends after the last try, and an unknown cost stays unknown', async () => {
  const said = { text: 'no', inputTokens: 1, outputTokens: 1 };
  let problems = 0;
  const asking = askUntilAccepted(
    async () => said,
    answerCheck(NUMBERS),
    2,
    () => void problems++,
  );
  await expect(asking).rejects.toMatchObject({ code: 'INVALID_ANSWER', retryable: false });
  expect(problems).toBe(2);
  const free = await askUntilAccepted(
    async () => said,
    answerCheck(undefined),
    1,
    () => undefined,
  );
  expect(free.spending).toEqual({ inputTokens: 1, outputTokens: 1 });
});

test('without a schema any text is an answer, but none is not', async () => {
  expect(await answerCheck(undefined)('yes')).toEqual({ answer: 'yes' });
  expect(await answerCheck(undefined)(' \n')).toEqual({ problem: expect.any(String) });
});

test('a schema that is not valid has a problem', () => {
  expect(schemaProblem({ type: 'number' })).toBeUndefined();
  expect(schemaProblem({ type: 'numbers' })).toEqual(expect.any(String));
});
