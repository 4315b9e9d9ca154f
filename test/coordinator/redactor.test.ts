import { describe, expect, it } from 'vitest';
import { Redactor } from '../../src/coordinator/redactor.ts';

const redactor = new Redactor({
  names: ['*_TOKEN', '*PASSWORD*', 'api_key'],
  maxTextLength: 200,
  env: {
    DEPLOY_TOKEN: 'correct-horse',
    LONG_TOKEN: 'correct-horse-battery',
    SHORT_TOKEN: 'abc',
    EDITOR: 'some-editor',
    EMPTY_TOKEN: undefined,
  },
});

describe('a text that leaves the process', () => {
  it('loses the values of variables with secret names', () => {
    expect(redactor.text('sent correct-horse-battery and correct-horse with some-editor, abc')).toBe(
      'sent [redacted] and [redacted] with some-editor, abc',
    );
  });

  it.each([
    `sk-${'a1'.repeat(20)}`,
    `sk_live_${'a1'.repeat(10)}`,
    `ghp_${'a1'.repeat(18)}`,
    `github_pat_${'a1'.repeat(18)}`,
    `glpat-${'a1'.repeat(10)}`,
    `npm_${'a1'.repeat(18)}`,
    'xoxb-1234567890-abcdefghij',
    `AKIA${'A1'.repeat(8)}`,
    `AIza${'a1'.repeat(18)}`,
    `hf_${'a1'.repeat(18)}`,
    `eyJ${'a1'.repeat(10)}.${'b2'.repeat(10)}.${'c3'.repeat(10)}`,
    `Bearer ${'a1'.repeat(10)}`,
    '-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----',
  ])('loses a token of the shape %j', (token) => {
    expect(redactor.text(`before ${token} after`)).toBe('before [redacted] after');
  });

  it('loses the values of secret fields, whatever the notation', () => {
    expect(
      redactor.text('db_password=hunter2 {"api_key": "k 1", "size": 3} DEPLOY_TOKEN: xyz; user=me'),
    ).toBe('db_password=[redacted] {"api_key": [redacted], "size": 3} DEPLOY_TOKEN: [redacted]; user=me');
    expect(redactor.text('https://me:hunter2@example.com/x')).toBe('https://[redacted]@example.com/x');
  });

  it('is cut after its secrets are gone, so that none is shown by half', () => {
    const text = redactor.text(`${'x'.repeat(195)}correct-horse${'y'.repeat(100)}`);
    expect(text).toBe(`${'x'.repeat(195)}[reda… (308 characters)`);
    expect(redactor.text('x'.repeat(200))).toHaveLength(200);
    expect(redactor.text(`${'x'.repeat(8000)}correct-horse`)).not.toContain('correct');
    expect(redactor.text('z'.repeat(1_000_000))).toBe(`${'z'.repeat(200)}… (1000000 characters)`);
  });

  it('stays as it is where there is nothing to hide', () => {
    const text = 'ENOENT: no such file or directory, open "a/b.txt" (line 3: x = 4)';
    expect(redactor.text(text)).toBe(text);
  });
});
