import { queryObjects } from 'node:v8';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { compileSchema, describeIssues, type JsonSchema } from '../../src/tools/schema.ts';

const issuesOf = async (schema: JsonSchema, value: unknown) => {
  const checked = await compileSchema(schema, 'input', 't').check(value);
  return checked.ok ? [] : checked.issues;
};

describe('a JSON Schema', () => {
  const person = {
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 2 },
      kind: { enum: ['cat', 'dog'] },
      'a/b': { type: ['integer', 'null'] },
      born: { type: 'string', format: 'date' },
      one: { const: 1 },
    },
    required: ['name'],
    additionalProperties: false,
  };

  it('names the field and the rule of everything that is wrong', async () => {
    const wrong = { kind: 'cow', 'a/b': 'x', colour: 1, born: 'yesterday', one: 2 };
    expect(new Set(await issuesOf(person, wrong))).toEqual(
      new Set([
        { path: '/name', rule: 'is required' },
        { path: '/colour', rule: 'is not a known field' },
        { path: '/kind', rule: 'must be one of "cat", "dog"' },
        { path: '/a~1b', rule: 'must be of type integer or null' },
        { path: '/born', rule: 'must match format "date"' },
        { path: '/one', rule: 'must be 1' },
      ]),
    );
  });

  it('takes what is right, and changes nothing of it', async () => {
    const value = { name: 'Mia', kind: 'cat' };
    const checked = await compileSchema(person, 'input', 'x').check(value);
    expect(checked.ok && checked.value).toBe(value);
  });

  it('knows if/then, not and unevaluatedProperties', async () => {
    const schema = {
      if: { properties: { a: { const: 1 } }, required: ['a'] },
      // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
      then: { required: ['b'] },
      not: { required: ['c'] },
      properties: { a: {}, b: {}, c: {} },
      unevaluatedProperties: false,
    };
    expect(await issuesOf(schema, { a: 1 })).toContainEqual({ path: '/b', rule: 'is required' });
    expect(await issuesOf(schema, { c: 1 })).not.toEqual([]);
    expect(await issuesOf(schema, { d: 1 })).toEqual([{ path: '/d', rule: 'is not a known field' }]);
    expect(await issuesOf(schema, { a: 1, b: 2 })).toEqual([]);
  });

  it.each([
    ['nested', JSON.parse(`${'{"type":"object","contains":'.repeat(30)}{}${'}'.repeat(30)}`), true],
    ['of many choices', { oneOf: Array.from({ length: 60 }, (_, n) => ({ required: [`a${n}`] })) }, true],
    ['long', { required: Array.from({ length: 1000 }, (_, n) => `a${n}`) }, true],
    ['usual', person, false],
  ])('is compiled in a thread where that takes long: %s', async (_, schema, isInThread) => {
    const checked = compileSchema(schema, 'input', 't').check({ name: 'Tom', a0: 1 });
    expect(checked instanceof Promise).toBe(isInThread);
    await checked;
  });

  it('may have an $id that another has, too', async () => {
    const first = { $id: 'https://example.com/s', type: 'string' };
    const second = { $id: 'https://example.com/s', type: 'number' };
    expect(await issuesOf(first, 'a')).toEqual([]);
    expect(await issuesOf(second, 1)).toEqual([]);
    expect(await issuesOf(second, 'a')).toHaveLength(1);
  });

  it('is forgotten with the tool that it belongs to', async () => {
    class OwnSchema {
      readonly type = 'string';
      readonly [keyword: string]: unknown;
    }
    for (let round = 0; round < 20; round++) expect(await issuesOf(new OwnSchema(), 'a')).toEqual([]);
    // The last may still lie about.
    expect(queryObjects(OwnSchema, { format: 'count' })).toBeLessThan(5);
  });

  it('says when it refers to something that is not there', async () => {
    const schema = compileSchema({ $ref: '#/$defs/none' }, 'input', 't');
    await expect(schema.check(1)).rejects.toThrow(/input of t .*resolve/);
  });
});

describe('a Standard Schema', () => {
  it('is shown as JSON Schema where the library can', () => {
    const schema = compileSchema(z.object({ path: z.string().describe('where') }), 'input', 'x');
    expect(schema.jsonSchema).toMatchObject({
      type: 'object',
      properties: { path: { type: 'string', description: 'where' } },
      required: ['path'],
    });
    const custom = compileSchema(z.custom<string>(), 'input', 'x');
    expect(custom.jsonSchema === undefined || typeof custom.jsonSchema === 'object').toBe(true);
  });

  it('may be asynchronous', async () => {
    const schema = compileSchema(
      z.string().refine(async (text) => text !== 'no', 'must not be no'),
      'input',
      'x',
    );
    expect(await schema.check('yes')).toEqual({ ok: true, value: 'yes' });
    expect(await schema.check('no')).toEqual({ ok: false, issues: [{ path: '', rule: 'must not be no' }] });
  });
});

describe('describeIssues()', () => {
  it('names five of them and counts the rest', () => {
    const issues = Array.from({ length: 7 }, (_, index) => ({
      path: index === 0 ? '' : `/f${index}`,
      rule: 'is bad',
    }));
    expect(describeIssues(issues)).toBe(
      'the whole is bad; /f1 is bad; /f2 is bad; /f3 is bad; /f4 is bad; and 2 more',
    );
  });
});

describe('a Standard Schema with promises of its own', () => {
  it('is waited for', async () => {
    const refused = { issues: [{ message: 'is wrong' }] };
    // biome-ignore lint/suspicious/noThenProperty: it is what this is about
    const validate = () => ({ then: (resolve: (result: object) => void) => resolve(refused) });
    const schema = { '~standard': { version: 1, vendor: 'test', validate } };
    const checked = await compileSchema(schema as never, 'input', 't').check(1);
    expect(checked).toEqual({ ok: false, issues: [{ path: '', rule: 'is wrong' }] });
  });
});
