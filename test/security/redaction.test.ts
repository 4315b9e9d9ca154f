import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { DEFAULTS } from '../../src/config/schema.ts';
import { Redactor } from '../../src/coordinator/redaction/redactor.ts';
import { say } from '../cli/support/program.ts';
import { runBuilt } from '../e2e/support/built-volley.ts';
import { project } from '../e2e/support/project.ts';
import { cpuMsOf } from '../support/cpu-time.ts';
import { amount } from '../support/depth.ts';

const SLOW = { timeout: 300_000 };
const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const DIGITS = '0123456789';
const HEX = `${DIGITS}abcdef`;
const UPPER = LOWER.toUpperCase();
const WORD = UPPER + LOWER + DIGITS;

/** Random characters with a digit among them, as tokens have. */
const body = (alphabet: string, length: number) =>
  fc
    .array(fc.constantFrom(...alphabet), { minLength: length - 1, maxLength: length - 1 })
    .chain((rest) => fc.constantFrom(...DIGITS).map((digit) => rest.join('') + digit));
const token = (prefix: string, length: number, alphabet = WORD) =>
  body(alphabet, length).map((text) => prefix + text);

const SHAPES: Readonly<Record<string, fc.Arbitrary<string>>> = {
  volley: token('volley_token_', 43, `${WORD}_-`),
  'volley session': token('volley_session_', 43, `${WORD}_-`),
  openai: token('sk-proj-', 48),
  anthropic: token('sk-ant-api03-', 90, `${WORD}_-`),
  stripe: token('sk_live_', 24),
  'stripe restricted': token('rk_test_', 24),
  'stripe webhook': token('whsec_', 32),
  github: token('ghp_', 36),
  'github server': token('ghs_', 36),
  'github fine-grained': token('github_pat_', 82, `${WORD}_`),
  gitlab: token('glpat-', 20, `${WORD}_-`),
  'gitlab runner': token('glrt-', 20),
  npm: token('npm_', 36),
  pypi: token('pypi-AgEIcHlwaS5vcmc', 80, `${WORD}_-`),
  rubygems: token('rubygems_', 48, HEX),
  docker: token('dckr_pat_', 27),
  huggingface: token('hf_', 34),
  groq: token('gsk_', 52),
  replicate: token('r8_', 37),
  'slack bot': token('xoxb-', 40, `${WORD}-`),
  'slack app': token('xapp-1-', 60, `${WORD}-`),
  'slack webhook': fc
    .tuple(body(UPPER, 9), body(UPPER, 11), body(WORD, 24))
    .map((parts) => `https://hooks.slack.com/services/T${parts.join('/B').replace(/\/B([^/]*)$/, '/$1')}`),
  discord: body(WORD, 68).map((text) => `https://discord.com/api/webhooks/123456789012345678/${text}`),
  telegram: body(`${WORD}_-`, 33).map((text) => `123456789:AA${text}`),
  aws: token('AKIA', 16, UPPER + DIGITS),
  'aws session': token('ASIA', 16, UPPER + DIGITS),
  google: token('AIza', 35, `${WORD}_-`),
  'google oauth': token('GOCSPX-', 28, `${WORD}_-`),
  'google access': token('ya29.', 60, `${WORD}_-`),
  azure: body(WORD, 31).map((text) => `abc8Q~${text}`),
  digitalocean: token('dop_v1_', 64, HEX),
  sendgrid: fc.tuple(body(`${WORD}_-`, 22), body(`${WORD}_-`, 43)).map(([a, b]) => `SG.${a}.${b}`),
  mailchimp: body(HEX, 32).map((text) => `${text}-us12`),
  mailgun: token('key-', 32, HEX),
  twilio: token('SK', 32, HEX),
  shopify: token('shpat_', 32, HEX),
  square: token('sq0atp-', 22, `${WORD}_-`),
  databricks: token('dapi', 32, HEX),
  vault: token('hvs.', 90, `${WORD}_-`),
  doppler: token('dp.pt.', 43),
  linear: token('lin_api_', 40),
  airtable: fc.tuple(body(WORD, 14), body(HEX, 64)).map(([a, b]) => `pat${a}.${b}`),
  grafana: token('glsa_', 41, `${WORD}_`),
  planetscale: token('pscale_tkn_', 43, `${WORD}_-`),
  atlassian: token('ATATT3', 180, `${WORD}_-`),
  'new relic': token('NRAK-', 27, UPPER + DIGITS),
  tailscale: token('tskey-auth-', 30, `${WORD}-`),
  jwt: fc.tuple(body(WORD, 30), body(WORD, 60), body(WORD, 43)).map((parts) => `eyJ${parts.join('.eyJ')}`),
  'private key': body(WORD, 64).map(
    (text) => `-----BEGIN PRIVATE KEY-----\n${text}\n-----END PRIVATE KEY-----`,
  ),
};

/** What a program may write before it: at each place in a group of base64, and a name that says nothing. */
const LEADS = ['', ' ', '= ', 'x: ', 'got '];
const hexOf = (text: string) => Buffer.from(text).toString('hex');
const ENCODINGS: Readonly<Record<string, (lead: string, secret: string) => string>> = {
  plain: (lead, secret) => lead + secret,
  base64: (lead, secret) => Buffer.from(lead + secret).toString('base64'),
  base64url: (lead, secret) => Buffer.from(lead + secret).toString('base64url'),
  hex: (lead, secret) => hexOf(lead + secret),
  'upper-case hex': (lead, secret) => hexOf(lead + secret).toUpperCase(),
  'percent-encoded': (lead, secret) => encodeURIComponent(lead + secret),
  'percent-encoded whole': (lead, secret) => hexOf(lead + secret).replace(/../g, '%$&'),
};

const redactorOf = (env: Record<string, string> = {}) =>
  new Redactor({ names: DEFAULTS.secrets.names, maxTextLength: 1_000_000, env });
const usual = redactorOf();

/** Whether half of a secret or more can be read, in whichever form it was written. */
function isVisible(
  shown: string,
  written: string,
  lead: string,
  encode: (typeof ENCODINGS)[string],
): boolean {
  const core = written.slice(encode(lead, '').replace(/=+$/, '').length);
  const half = Math.max(12, Math.floor(core.length / 2));
  for (let at = 0; at + half <= core.length; at++) if (shown.includes(core.slice(at, at + half))) return true;
  return false;
}

describe('secrets of well-known shapes', () => {
  it(`are at least 40, and none is visible in any encoding`, () => {
    expect(Object.keys(SHAPES).length).toBeGreaterThanOrEqual(40);
    const visible: string[] = [];
    for (const [shape, secrets] of Object.entries(SHAPES))
      for (const [encoding, encode] of Object.entries(ENCODINGS))
        fc.assert(
          fc.property(secrets, fc.constantFrom(...LEADS), (secret, lead) => {
            const written = encode(lead, secret);
            const shown = usual.text(`Request failed: ${written} (status 401)`);
            if (isVisible(shown, written, lead, encode)) visible.push(`${shape} ${encoding}: ${shown}`);
            expect(shown).toContain('Request failed: ');
          }),
          { numRuns: amount({ quick: 2, deep: 15 }) },
        );
    expect(visible).toEqual([]);
  });

  it('are found after an escape, in JSON inside of JSON', () => {
    const secret = `ghp_${'a1'.repeat(18)}`;
    const text = JSON.stringify(JSON.stringify({ log: `first\n${secret}\tlast` }));
    expect(usual.text(text)).not.toContain('a1a1');
  });
});

describe('the value of a secret variable', () => {
  it('is visible in none of its encodings, at any place of base64', () => {
    const names = ['DB_PWD', 'GH_PAT', 'DEPLOY_TOKEN', 'SESSION_COOKIE'];
    fc.assert(
      fc.property(
        fc
          .string({ unit: 'grapheme-ascii', minLength: 12, maxLength: 60 })
          .filter((text) => /^\S.*\S$/.test(text)),
        fc.constantFrom(...names),
        fc.constantFrom(...LEADS),
        fc.constantFrom(...Object.values(ENCODINGS)),
        (secret, name, lead, encode) => {
          const written = encode(lead, secret);
          const shown = redactorOf({ [name]: secret }).text(`before|${written}|after`);
          // A few characters at the edges of base64 stand for other bytes too.
          expect(
            shown.replace('before|', '').replace('|after', '').replace('[redacted]', '').length,
          ).toBeLessThan(encode(lead, '').length + 12);
          expect(shown).toContain('[redacted]');
        },
      ),
      { numRuns: amount({ quick: 80, deep: 1000 }) },
    );
  });

  it('is not the working folder', () => {
    const folder = '/home/me/project-2';
    expect(redactorOf({ PWD: folder }).text(`in ${folder}, PWD=${folder}`)).toBe(
      `in ${folder}, PWD=${folder}`,
    );
  });
});

describe('a secret that is known by its name', () => {
  it.each([
    ['pwd=hunter2 next', 'pwd=[redacted] next'],
    ['Server=db;Uid=me;Pwd=hunter2;Port=1', 'Server=db;Uid=me;Pwd=[redacted];Port=1'],
    ['DB_PWD=hunter2', 'DB_PWD=[redacted]'],
    ['GITHUB_PAT: abcdef', 'GITHUB_PAT: [redacted]'],
    ['Cookie: sid=abc; theme=dark\nHost: x', 'Cookie: [redacted]\nHost: x'],
    ['Set-Cookie: sid=abc; Path=/; HttpOnly\r\nVary: x', 'Set-Cookie: [redacted]\r\nVary: x'],
    [`curl -H 'Cookie: sid=abc; b=c' http://x`, `curl -H 'Cookie: [redacted]' http://x`],
    ['{"cookie":"sid=abc; b=c","size":1}', '{"cookie":[redacted],"size":1}'],
    [
      'https://me.blob.core.windows.net/c?sv=2024&sig=abcDEF123%2Bxyz456%3D&se=1',
      'https://me.blob.core.windows.net/c?sv=2024&sig=[redacted]&se=1',
    ],
    ['curl -u bob:hunter22x http://x', 'curl -u bob:[redacted] http://x'],
    ['curl --user bob:secret http://x:80/', 'curl --user bob:[redacted] http://x:80/'],
    ['["curl","-u","bob:secret","http://x"]', '["curl","-u","bob:[redacted]","http://x"]'],
    ['docker run -u 1000:1000 image', 'docker run -u 1000:1000 image'],
    ['Your password: hunter', 'Your password: [redacted]'],
    ['password: the', 'password: [redacted]'],
  ])('is taken out of %j', (text, safe) => {
    expect(usual.text(text)).toBe(safe);
  });
});

/** Every sentence in the sources, with something ordinary where a value is put in. */
function ownSentences(): string[] {
  const root = fileURLToPath(new URL('../../src/', import.meta.url));
  const found = new Set<string>();
  for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    // The shapes of secrets are no messages.
    if (!name.endsWith('.ts') || name.includes('redaction')) continue;
    const source = ts.createSourceFile(
      name,
      readFileSync(join(root, name), 'utf8'),
      ts.ScriptTarget.Latest,
      true,
    );
    const visit = (node: ts.Node): void => {
      const text = ts.isStringLiteralLike(node)
        ? node.text
        : ts.isTemplateExpression(node)
          ? node.head.text + node.templateSpans.map(({ literal }) => `name${literal.text}`).join('')
          : '';
      if (/\w+ \w+ \w+/.test(text)) found.add(text);
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return [...found];
}

describe("Volley's own words", () => {
  it('stay as they are, all of them', () => {
    const sentences = ownSentences();
    expect(sentences.length).toBeGreaterThan(200);
    const changed = sentences
      .filter((text) => usual.text(text) !== text)
      .map((text) => [text, usual.text(text)]);
    expect(changed).toEqual([]);
  });
});

describe('hostile text', () => {
  it('of a million characters takes time linear in its length', SLOW, () => {
    const pieces = [
      'sk-',
      'a=',
      'eyJaaaaaaaa.',
      '%41',
      'A',
      'QUFB',
      'ghp_',
      '6768',
      '/',
      'cookie: ',
      'password: the a ',
    ];
    pieces.push(
      'https://hooks.slack.com/services/',
      '1234567890:AA',
      '?sig=',
      'SG.',
      '\\',
      '//a:',
      "'Cookie: ",
      '-u ',
      '-u a:',
      '%',
    );
    const timeOf = (text: string) => cpuMsOf(() => usual.text(text));
    // Quadratic work would take ten times as long for each character.
    for (const piece of pieces) {
      const [short, long] = [100_000, 1_000_000].map((length) => piece.repeat(length / piece.length));
      const least = Math.min(timeOf(short!), timeOf(short!), timeOf(short!));
      expect({ piece, isLinear: timeOf(long!) < 60 * Math.max(least, 20) }).toEqual({
        piece,
        isLinear: true,
      });
    }
  });
});

describe('what leaves the built program', () => {
  it('holds no secret of a failed task, in results, exports and what is shown meanwhile', SLOW, async () => {
    const secrets = Object.values(SHAPES).map((shape) => fc.sample(shape, { numRuns: 1, seed: 7 })[0]!);
    const lines = secrets.flatMap((secret) => Object.values(ENCODINGS).map((encode) => encode('', secret)));
    const folder = project({
      'volley.toml': '[tools]\nmodules = ["./tools.mjs"]\n[secrets]\nmax_text_length = 1000000\n',
      'tools.mjs': `{define} export const bad = defineTool({ name: "bad", run: (_, { report }) => { const text = ${JSON.stringify(lines.join(' | '))}; report(text); throw new Error(text); } });`,
      'work.json': '{"tasks":[{"id":"a","function":"bad"}]}',
    });
    const said = await runBuilt(folder, ['run', 'work.json']);
    const shown = [said.stdout, said.stderr];
    for (const args of [
      ['results', '--id', 'a', '--json'],
      ['results', '--id', 'a', '--raw'],
      ['explain', 'a'],
      ['export', '--output-file', 'out.json', '--json'],
    ])
      shown.push((await say(folder, args)).stdout);
    shown.push(readFileSync(join(folder, 'out.json'), 'utf8'));
    const all = shown.join('\n');
    expect(all).toContain('[redacted]');
    expect(lines.filter((line) => all.includes(line.slice(line.length / 2)))).toEqual([]);
  });
});
