import { describe, expect, it } from 'vitest';
import * as volley from '../../../src/index.ts';

type Taking = (given: unknown) => unknown;

/** Called without types, as from JavaScript. */
const door = (name: string) => (volley as unknown as Record<string, Taking>)[name]!;

function refusal(name: string, given: unknown): unknown {
  try {
    return door(name)(given);
  } catch (error) {
    return error;
  }
}

const TAKE_TOOLS = ['toolNames', 'anthropicTools', 'openaiChatTools', 'openaiResponsesTools', 'mcpTools'];
const TAKE_RESULTS = ['anthropicResults', 'openaiChatResults', 'openaiResponsesResults', 'vercelResults'];

const WRONG: [given: unknown, shown: string][] = [
  [undefined, 'this is undefined'],
  [null, 'this is null'],
  [7, 'this is 7'],
  ['read_file', 'this is "read_file"'],
  [{ tools: [] }, 'this is an object'],
  [Promise.resolve([]), 'this is a promise: await it first'],
];

describe('what is no list', () => {
  it.each(TAKE_TOOLS)('of tools is refused with what is expected: %s', (name) => {
    const entries: [unknown, string][] = [
      [[{ name: 'a', inputSchema: {} }, null], 'the name of tool 1 is undefined'],
      [['read_file'], 'the name of tool 0 is undefined'],
      [[{ name: 5 }], 'the name of tool 0 is 5'],
    ];
    for (const [given, shown] of [...WRONG, ...entries])
      expect(refusal(name, given)).toMatchObject({
        code: 'INVALID_VALUE',
        message: `Expected a list of tools, such as coordinator.tools() returns, but ${shown}.`,
      });
  });

  it.each(TAKE_RESULTS)('of results is refused with what is expected: %s', (name) => {
    const entries: [unknown, string][] = [
      [[null], 'the status of result 0 is undefined'],
      [[{ id: 'a', status: 'done' }], 'the status of result 0 is "done"'],
    ];
    for (const [given, shown] of [...WRONG, ...entries])
      expect(refusal(name, given)).toMatchObject({
        code: 'INVALID_VALUE',
        message: `Expected a list of results, such as executeParallel() returns, but ${shown}.`,
      });
  });

  it.each(TAKE_TOOLS.slice(1))('has tools without a schema, which is told: %s', (name) => {
    expect(refusal(name, [{ name: 'mine', description: '', input: {} }])).toMatchObject({
      code: 'INVALID_TOOL',
      message: expect.stringMatching(
        /^Tool mine: its inputSchema must be a JSON Schema, but it is undefined\./,
      ),
    });
  });

  it('may be anything that can be gone through where only the names count', () => {
    const tools = new Map([['a', { name: 'a.b' }]]);
    expect(volley.toolNames(tools.values()).toProvider('a.b')).toBe('a__b');
  });
});
