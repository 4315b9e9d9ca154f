import type { Span } from './span.ts';

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
export function prefixedTokens(text: string): Span[] {
  const spans: Span[] = [];
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
export function isRandom(word: string): boolean {
  return /\d|[a-z][A-Z]/.test(word);
}
