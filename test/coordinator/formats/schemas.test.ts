import { expect, test } from 'vitest';
import { objectSchema } from '../../../src/coordinator/formats/common.ts';

const schemaOf = (inputSchema: object) =>
  objectSchema({ name: 'now', description: '', inputSchema: { ...inputSchema } });

test('says that the arguments are an object', () => {
  expect(schemaOf({})).toEqual({ type: 'object' });
  expect(schemaOf({ type: 'object', required: ['a'] })).toEqual({ type: 'object', required: ['a'] });
  expect(schemaOf({ type: ['object', 'null'] })).toEqual({ type: 'object' });
  expect(schemaOf({ anyOf: [{ required: ['a'] }] })).toEqual({
    type: 'object',
    anyOf: [{ required: ['a'] }],
  });
});

test('refuses a tool that takes anything else, by name', () => {
  expect(() => schemaOf({ type: 'string' })).toThrow(
    'Tool now: its input is of type "string", but models can pass only objects.',
  );
});
