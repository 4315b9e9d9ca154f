/** Words that people and models use for the same thing. */
const SAME: readonly (readonly string[])[] = [
  ['search', 'grep', 'find', 'match', 'locate'],
  ['list', 'ls', 'dir', 'enumerate'],
  ['directory', 'folder'],
  ['read', 'cat', 'open', 'view', 'load'],
  ['write', 'save', 'create', 'store'],
  ['delete', 'remove', 'rm'],
  ['http', 'fetch', 'curl', 'url', 'download', 'web'],
  ['shell', 'bash', 'command', 'exec', 'terminal'],
  ['content', 'text'],
  ['compute', 'calculate', 'transform'],
];

const IGNORED = new Set([
  'a',
  'all',
  'an',
  'and',
  'for',
  'from',
  'in',
  'of',
  'on',
  'or',
  'the',
  'to',
  'with',
]);
/** What scores less than this share of the best is left out. */
const MIN_SHARE = 0.6;

const SYNONYMS = new Map(
  SAME.flatMap((words) => words.map((word) => [stem(word), new Set(words.map(stem))])),
);

interface Searched {
  readonly name: string;
  readonly description?: string;
}

/** Finds what any of the words describe, the best match first. */
export function rankBySearch<T extends Searched>(all: readonly T[], search: string): T[] {
  const words = wordsOf(search).filter((word) => !IGNORED.has(word));
  const scored = all
    .map((one) => ({ one, score: scoreOf(one, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  const best = scored[0]?.score ?? 0;
  return scored.filter(({ score }) => score >= best * MIN_SHARE).map(({ one }) => one);
}

/** Names count more than descriptions, and the word itself more than another one for it. */
function scoreOf({ name, description = '' }: Searched, words: readonly string[]): number {
  const inName = new Set(wordsOf(name).map(stem));
  const inText = new Set(wordsOf(description).map(stem));
  const plainName = name.toLowerCase();
  let score = 0;
  for (const word of words) {
    const root = stem(word);
    const others = [...(SYNONYMS.get(root) ?? [])];
    if (inName.has(root)) score += 5;
    else if (others.some((other) => inName.has(other))) score += 3;
    else if (root.length > 2 && plainName.includes(root)) score += 2;
    else if (inText.has(root)) score += 2;
    else if (others.some((other) => inText.has(other))) score += 1;
  }
  return score;
}

function wordsOf(text: string): string[] {
  return text
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}

/** `files`, `reading` and `searches` as `file`, `read` and `search`. */
function stem(word: string): string {
  const root = word.replace(/(?:ies)$/, 'y').replace(/(?:ing|ed|es|s|e)$/, '');
  return root.length < 3 ? word : root;
}
