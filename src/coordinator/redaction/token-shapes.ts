import type { SecretSpan } from './spans.ts';

/**
 * Well-known shapes of secrets. Each expression takes in whatever it has looked at, or gives up after a bounded number
 * of characters, so that it stays linear: a string comes from a tool, and may be made to be slow. Where that takes in too
 * much, `isSecret` decides.
 */
interface Shape {
  readonly pattern: RegExp;
  readonly isSecret?: (found: string) => boolean;
  /** What the secret stands behind. */
  readonly after?: string;
}

const SHAPES: readonly Shape[] = [
  // Without its end, the rest of the text may belong to the key.
  {
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g,
  },
  { pattern: /\bA(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}\b/g },
  { pattern: /\bSG\.[\w-]{16,64}\.[\w-]{16,128}/g },
  // Their beginnings are common, so all of them must fit.
  { pattern: /\bnpm_[A-Za-z0-9]{20,}/g },
  { pattern: /\bsecret_[A-Za-z0-9]{40,}/g },
  { pattern: /\b(?:key-|dapi|SK)[0-9a-f]{32}/g },
  { pattern: /\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}/g },
  { pattern: /\b[a-f0-9]{32}-us\d{1,2}\b/g },
  // Telegram: the number of a bot and its token. Azure: the secret of an application.
  { pattern: /\b\d{8,10}:A[\w-]{34}/g },
  { pattern: /\b[\w.~-]{3}\dQ~[\w.~-]{31,40}/g },
  // The address of a webhook is all it takes to post to it.
  { pattern: /\bhooks\.slack\.com\/(?:services|workflows|triggers)\/[\w/+-]{20,}/g },
  { pattern: /\bdiscord(?:app)?\.com\/api\/webhooks\/[\w/-]{20,}/g },
  { pattern: /\bwebhook\.office\.com\/webhookb2\/[\w@/-]{20,}/g },
  // Signed addresses of Azure, Amazon and Google.
  { pattern: /[?&;](?:sig|(?:x-amz-|x-goog-)?signature)=[\w%+/~.-]{16,}={0,2}/gi, after: '=' },
  // A signed token of two parts has lost its third to a cut.
  {
    pattern: /\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,4}/g,
    isSecret: (found) => /^[^.]*\.(?:[^.]{16,}|[^.]*\.[^.]+)/.test(found),
  },
  // "Bearer authentication" is no token, nor is any other word of ordinary letters.
  {
    pattern: /\bBearer\s{1,32}[A-Za-z0-9+/._~-]{12,}={0,2}/gi,
    isSecret: (found) => isRandom(found.slice(7)),
  },
  {
    pattern: /(?<=[:=]\s?["']?)token\s{1,32}[A-Za-z0-9+/._~-]{12,}={0,2}/gi,
    isSecret: (found) => /\d/.test(found),
  },
  {
    pattern: /\bBasic\s{1,32}[A-Za-z0-9+/_-]{4,}={0,2}/gi,
    isSecret: (found) => isUserAndPassword(found.slice(6)),
  },
];

/** The beginning of an address with credentials, `//user:`, but not of one with a port; and all that follows. */
const ADDRESS = /\/\/[^\s/:@[]{0,256}:(?!\d{1,5}(?:[/?#\s"'`]|$))[^\s"'`<>]*/g;

/** Those that stand in a string as they are. */
function plainSecrets(text: string): SecretSpan[] {
  const spans: SecretSpan[] = prefixedTokens(text);
  for (const { pattern, isSecret, after } of SHAPES)
    for (const { 0: found, index } of text.matchAll(pattern)) {
      const from = after === undefined ? index : index + found.indexOf(after) + after.length;
      if (isSecret?.(found) ?? true) spans.push([from, index + found.length]);
    }
  for (const { 0: found, index } of text.matchAll(ADDRESS)) {
    // A password may hold an `@` or a `/` that should have been escaped: the last `@` ends it.
    const end = found.lastIndexOf('@');
    if (end !== -1) spans.push([index + 2, index + end]);
  }
  return spans;
}

/** Shorter runs of base64 or hexadecimal digits hold no whole token. */
const RUN = /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,}={0,2}/g;
const HEX = /^[0-9a-f]+$/i;
const CAPITAL = /[A-Z]/;
const READABLE = /[ -~]{12}/;

/** Well-known shapes of secrets, also inside of base64 and hexadecimal digits: then all of those are taken out. */
export function shapedSecrets(text: string): SecretSpan[] {
  const spans = plainSecrets(text);
  for (const { 0: run, index } of text.matchAll(RUN))
    if (decodings(run).some((decoded) => READABLE.test(decoded) && plainSecrets(decoded).length > 0))
      spans.push([index, index + run.length]);
  return spans;
}

/** What a run may stand for, wherever in it the encoded part begins. Base64 of text has capitals, most paths have none. */
function decodings(run: string): string[] {
  if (HEX.test(run)) return [0, 1].map((from) => Buffer.from(run.slice(from), 'hex').toString('latin1'));
  if (!CAPITAL.test(run)) return [];
  return [0, 1, 2, 3].map((from) => Buffer.from(run.slice(from), 'base64').toString('latin1'));
}

function isUserAndPassword(base64: string): boolean {
  const decoded = Buffer.from(base64.trim(), 'base64');
  return decoded.includes(':') && decoded.every((byte) => byte >= 0x20 && byte !== 0x7f);
}

/** Words that tokens of well-known services begin with, by how many characters of a token follow at least. */
const PREFIXES: Readonly<Record<number, string>> = {
  8: 'sk_live_ sk_test_ pk_live_ pk_test_ rk_live_ rk_test_',
  10: 'xapp- xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- tskey-',
  16: `sk- pk- rk- whsec_ volley_token_ volley_key_ volley_session_
    glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glimt- glagent- gloas-
    pscale_tkn_ pscale_pw_ pscale_oauth_ LTAI`,
  20: `ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ pypi- rubygems_ dckr_pat_ hf_ gsk_ xai- pplx- r8_ nvapi- tvly- e2b_
    lsv2_pt_ lsv2_sk_ ya29. GOCSPX- dop_v1_ doo_v1_ dor_v1_ shpat_ shpca_ shppa_ shpss_ sq0atp- sq0csp- sq0idp-
    lin_api_ ntn_ figd_ NRAK- NRAA- glsa_ glc_ sntryu_ sntrys_ rnd_ nfp_ sbp_ fo1_ vcp_ HRKU- bkua_ CCIPAT_ CFPAT-
    PMAK- ATATT3 ATCTT3 ATBB hvs. hvb. hvr. xkeysib- shippo_live_ shippo_test_ AGE-SECRET-KEY-1 duffel_live_
    dp.pt. dp.st. dp.ct. dp.sa. dt0c01. dt0s01. ops_eyJ`,
  30: 'AIza sqp_ squ_ sqa_ tfp_ pul- EZAK',
  40: 'sha256~',
  60: 'AKCp',
};

const MIN_LENGTHS = new Map<string, number>(
  Object.entries(PREFIXES).flatMap(([length, words]) =>
    words.split(/\s+/).map((word) => [word, Number(length)] as const),
  ),
);

const ANY_PREFIX = new RegExp(
  [...MIN_LENGTHS.keys()]
    .sort((a, b) => b.length - a.length)
    .map((word) => word.replaceAll('.', '\\.'))
    .join('|'),
  'g',
);
const BODY = /[A-Za-z0-9_-]*/y;
/** Tokens whose parts are joined by dots. */
const DOTTED_BODY = /[A-Za-z0-9_.-]*[A-Za-z0-9_-]/y;

/** Tokens that are known by how they begin. Each character is looked at a bounded number of times. */
function prefixedTokens(text: string): SecretSpan[] {
  const spans: SecretSpan[] = [];
  ANY_PREFIX.lastIndex = 0;
  for (let found = ANY_PREFIX.exec(text); found !== null; found = ANY_PREFIX.exec(text)) {
    const { 0: prefix, index } = found;
    if (!isBoundary(text, index)) continue;
    const from = index + prefix.length;
    const body = prefix.endsWith('.') ? DOTTED_BODY : BODY;
    body.lastIndex = from;
    const token = body.exec(text)?.[0] ?? '';
    if (token.length < MIN_LENGTHS.get(prefix)!) continue;
    ANY_PREFIX.lastIndex = from + token.length;
    if (isRandom(token)) spans.push([index, from + token.length]);
  }
  return spans;
}

/** Whether something may begin here: at the edge of a word, or after an escape such as `\n`. */
function isBoundary(text: string, at: number): boolean {
  if (at === 0) return true;
  const before = text.charCodeAt(at - 1);
  const isWord =
    (before >= 48 && before <= 57) ||
    (before >= 65 && before <= 90) ||
    (before >= 97 && before <= 122) ||
    before === 95;
  return !isWord || text[at - 2] === '\\';
}

/** Words joined by hyphens look like tokens, but have no digits and no capitals within. */
function isRandom(word: string): boolean {
  return /\d|[a-z][A-Z]/.test(word);
}
