import { describe, expect, it } from 'vitest';
import { DEFAULTS } from '../../src/config/schema.ts';
import { Redactor } from '../../src/coordinator/redaction/redactor.ts';
import { cpuMsOf } from '../support/cpu-time.ts';

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
    'Basic dTpw',
    '-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----',
    '-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\nMIIabc\n-----END RSA PRIVATE KEY-----',
  ])('loses a token of the shape %j', (token) => {
    expect(redactor.text(`before ${token} after`)).toBe('before [redacted] after');
  });

  it('loses the values of secret fields, whatever the notation', () => {
    expect(
      redactor.text('db_password=hunter2 {"api_key": "k 1", "size": 3} DEPLOY_TOKEN: xyz; user=me'),
    ).toBe('db_password=[redacted] {"api_key": [redacted], "size": 3} DEPLOY_TOKEN: [redacted]; user=me');
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

const usual = new Redactor({ names: DEFAULTS.secrets.names, maxTextLength: 100_000, env: {} });

describe('the value of a secret field', () => {
  it.each([
    ['{\\"password\\":\\"hunter2hunter2\\",\\"a\\":1}', '{\\"password\\":[redacted],\\"a\\":1}'],
    ['password="a\\"bsecretrest" b', 'password=[redacted] b'],
    ['password="a\\\\" b="c"', 'password=[redacted] b="c"'],
    ['password=ab,cdefsecret b', 'password=[redacted] b'],
    ['password=ab,user=me', 'password=[redacted],user=me'],
    ['?token=ab&page=2', '?token=[redacted]&page=2'],
    ['password: ["hunter2", "b]c"] d', 'password: [redacted] d'],
    ['{"credentials": {"user": "me", "pin": [1, 2]}, "a": 1}', '{"credentials": [redacted], "a": 1}'],
    ['password => "x y" b', 'password => [redacted] b'],
    ['password := x b', 'password := [redacted] b'],
    ['run --password x b', 'run --password [redacted] b'],
    ['["--password", "x"]', '["--password", [redacted]]'],
    ['password=\'a\'"b"c d', 'password=[redacted] d'],
    ['{"text":"password=hunter2","a":1}', '{"text":"password=[redacted]","a":1}'],
    ['Authorization: Token abc d', 'Authorization: [redacted] d'],
    ['password="cut off', 'password=[redacted]'],
  ])('is taken out of %j', (text, safe) => {
    expect(usual.text(text)).toBe(safe);
  });

  it('is found however long it and its name are', () => {
    const name = `${'long_'.repeat(100)}password`;
    expect(usual.text(`${name}="${'a b'.repeat(1000)}" c`)).toBe(`${name}=[redacted] c`);
  });

  it.each([
    'x-api-key',
    'apiKey',
    'APIKey',
    'apikey',
    'token',
    'accessToken',
    'passphrase',
    'authorization',
    'DB_PASS',
  ])('is found by the usual name %s', (name) => {
    expect(usual.text(`${name}: hunter2`)).toBe(`${name}: [redacted]`);
  });

  it.each([
    ['https://me:hunter2@example.com/x', 'https://[redacted]@example.com/x'],
    ['postgres://u:p@sswordpart@host/db', 'postgres://[redacted]@host/db'],
    ['postgres://u:pa/ss@host', 'postgres://[redacted]@host'],
    ['http://h:80/?to=http://u:p@host', 'http://h:80/?to=http://[redacted]@host'],
  ])('is found in the address %s', (text, safe) => {
    expect(usual.text(text)).toBe(safe);
  });
});

describe('an ordinary message', () => {
  it.each([
    'Error: Basic authentication failed',
    'Bearer authentication is required',
    'Unexpected token something_unexpected',
    'Unexpected token: something_unexpected',
    'sk-learn-contrib-packages',
    'primary_key: id, foreign_key=user_id',
    'Token::from_bytes failed',
    '{ token: string; size: number }',
    '--token is required',
    'max_tokens: 4096',
    'http://localhost:3000/@scope/name',
  ])('stays as it is: %s', (text) => {
    expect(usual.text(text)).toBe(text);
  });

  it('loses even ordinary names that are configured in full', () => {
    const strict = new Redactor({ names: ['primary_key'], maxTextLength: 200, env: {} });
    expect(strict.text('primaryKey: id')).toBe('primaryKey: [redacted]');
  });
});

describe('the value of a secret variable', () => {
  const value = 'pä/ss "w+rd" & more?';
  const lines = `-----BEGIN THING-----\n${'first'.repeat(5)}\n${'second'.repeat(5)}\n-----END THING-----\n`;
  const holder = new Redactor({
    names: ['*_KEY'],
    maxTextLength: 2000,
    env: { A_KEY: value, LINES_KEY: lines, PATH_KEY: '/usr/bin', OTHER: 'nothing' },
  });

  it.each([
    ['as it is', value],
    ['as JSON', JSON.stringify(value).slice(1, -1)],
    ['as JSON in JSON', JSON.stringify(JSON.stringify(value)).slice(3, -3)],
    ['as part of an address', encodeURIComponent(value)],
    ['as part of a form', new URLSearchParams({ '': value }).toString().slice(1)],
    ['as an address', encodeURI(value)],
    ['in base64', Buffer.from(value).toString('base64')],
    ['in base64 for addresses', Buffer.from(value).toString('base64url')],
    ['as one line of many', 'second'.repeat(5)],
    ['as many lines', lines],
    ['as many lines in JSON', JSON.stringify(lines).slice(1, -1)],
  ])('is removed where it stands %s', (_, written) => {
    expect(holder.text(`before ${written} after`)).toBe('before [redacted] after');
  });

  it.each([1, 2, 3])('is removed from base64 that holds it after %i other characters', (before) => {
    const encoded = Buffer.from(`${'x'.repeat(before)}${value}yyy`).toString('base64');
    const shown = holder.text(encoded).split('[redacted]');
    expect(shown).toHaveLength(2);
    expect(shown.join('').length).toBeLessThan(12);
  });

  it('is no secret where it is the path of a folder', () => {
    expect(holder.text('spawn /usr/bin/node -----BEGIN THING-----')).toBe(
      'spawn /usr/bin/node -----BEGIN THING-----',
    );
  });

  it('is removed when it was set or changed later, and after it is gone', () => {
    const env: Record<string, string | undefined> = {};
    const late = new Redactor({ names: ['*_KEY'], maxTextLength: 2000, env });
    expect(late.text('first-value')).toBe('first-value');
    env['A_KEY'] = 'first-value';
    expect(late.text('first-value')).toBe('[redacted]');
    env['A_KEY'] = 'second-value';
    late.refresh();
    delete env['A_KEY'];
    expect(late.text('first-value, second-value')).toBe('[redacted], [redacted]');
  });

  it('is not forgotten while it holds, however many others come and go', () => {
    const env: Record<string, string> = { A_KEY: 'lasting-value', B_KEY: 'value-first' };
    const late = new Redactor({ names: ['*_KEY'], maxTextLength: 2000, env });
    for (let count = 0; count < 1100; count++) {
      env['B_KEY'] = `value-${count}.`;
      late.refresh();
    }
    expect(late.text('lasting-value value-1099.')).toBe('[redacted] [redacted]');
    expect(late.text('value-first')).toBe('value-first');
  });
});

describe('a long text', () => {
  it('shows no half of a secret, however much its other secrets made it shrink', () => {
    const env = { A_TOKEN: 'q'.repeat(20_000), B_TOKEN: 'correct-horse-battery' };
    const short = new Redactor({ names: ['*_TOKEN'], maxTextLength: 200, env });
    for (const text of [
      `${'q'.repeat(20_000)}${'z'.repeat(10_000)}`,
      `${'z'.repeat(150)}${'q'.repeat(20_000)}${'z'.repeat(20_000)}`,
      `${`a_token="${'a'.repeat(400)}" `.repeat(20).padEnd(8380, 'x')}${'correct-horse-battery'.repeat(3)}`,
      `${`a_token="${'a'.repeat(400)}" `.repeat(20).padEnd(20_190, 'x')}${'correct-horse-battery'.repeat(3)}`,
    ]) {
      const shown = short.text(text);
      expect(shown).not.toMatch(/qq|correct/);
      expect(shown.length).toBeLessThan(230);
    }
  });

  it('still shows its beginning when a huge secret follows', () => {
    const key = `-----BEGIN PRIVATE KEY-----${'A'.repeat(50_000)}-----END PRIVATE KEY-----`;
    expect(redactor.text(`The key ${key} is bad`)).toMatch(/^The key \[redacted\]… \(\d+ characters\)$/);
  });

  it.each([
    '-eyJaaaaaaaa',
    'eyJaaaaaaaa.',
    'a=',
    'password="',
    'password=["',
    "password=('",
    'password=,',
    'password=\\\\',
    '\\',
    '//a:',
    '-----BEGIN PRIVATE KEY-----',
    'sk-',
    'Bearer aaaaaaaaaaaa',
    '--password ',
    'aA',
  ])('made of %j takes no longer than a harmless one, but for a factor', (part) => {
    const length = 100_000;
    const filled = (text: string) => text.repeat(Math.ceil(length / text.length)).slice(0, length);
    const timeOf = (text: string) => {
      // The quickest of a few: one may be held up by a garbage collection.
      return Math.min(...Array.from({ length: 3 }, () => cpuMsOf(() => usual.text(text))));
    };
    expect(timeOf(filled(part))).toBeLessThan(500 * timeOf(filled('name: nothing to hide, ')));
  });
});
