import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { editJson } from '../../../src/tasks/files/json-edit.ts';

describe('editing JSON', () => {
  test('leaves all else as it is written: order, numbers, repeated and odd keys, white space', () => {
    const text =
      '\ufeff{\r\n\t"z": 12345678901234567890 ,\r\n\t"2": "two", "1": 1.50e2,\r\n\t"status": "pending",\r\n\t"__proto__": {"a" : [1,  2]}\r\n}\r\n';
    expect(editJson(text, { status: 'completed' })).toBe(text.replace('"pending"', '"completed"'));
  });

  test('adds behind the last one, in the same indentation', () => {
    expect(editJson('{\n    "a": 1\n}\n', { b: { c: [1] } })).toBe(
      '{\n    "a": 1,\n    "b": {\n        "c": [\n            1\n        ]\n    }\n}\n',
    );
    expect(editJson('{"a":1}', { b: [1, 2] })).toBe('{"a":1,"b": [1,2]}');
    expect(editJson('{ }', { b: 1 })).toBe('{\n  "b": 1\n}');
  });

  test('takes out the first, one between and the last', () => {
    const text = '{\n  "a": 1,\n  "b": "}",\n  "c": [3]\n}';
    expect(editJson(text, { a: undefined })).toBe('{\n  "b": "}",\n  "c": [3]\n}');
    expect(editJson(text, { b: undefined })).toBe('{\n  "a": 1,\n  "c": [3]\n}');
    expect(editJson(text, { c: undefined, missing: undefined })).toBe('{\n  "a": 1,\n  "b": "}"\n}');
  });

  test('of a repeated key changes the one that counts', () => {
    expect(JSON.parse(editJson('{"a":1,"b":2,"a":3}', { a: 4 }))).toEqual({ a: 4, b: 2 });
  });

  test('gives what setting the members of the object would give, whatever is in it', () => {
    const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 6 });
    const changes = fc.dictionary(fc.string(), fc.option(fc.jsonValue(), { nil: undefined }), { maxKeys: 4 });
    fc.assert(
      fc.property(object, changes, fc.constantFrom(undefined, 2, '\t'), (before, changed, indent) => {
        const wanted = JSON.parse(JSON.stringify({ ...before, ...changed }));
        expect(JSON.parse(editJson(JSON.stringify(before, null, indent), changed))).toEqual(wanted);
      }),
    );
  });
});
