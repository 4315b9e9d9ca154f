import picomatch from 'picomatch';

/** Longer names are judged by their end: what comes from a tool may be made to be slow. */
const MAX_NAME_LENGTH = 128;

/** Names that a glob such as `*_KEY` catches although their values are nothing to hide, unless named in full. */
const ORDINARY = /(?:^|_)(?:primary|foreign|unique|public|partition|sort|cache|object)_key$/i;

/** Whether a value with this name is secret. `apiKey` and `api-key` count as `api_key`. */
export type IsSecretName = (name: string) => boolean;

export function secretNames(globs: readonly string[]): IsSecretName {
  if (globs.length === 0) return () => false;
  // One expression for all globs: a text may hold very many names.
  const sources = globs.map((glob) => picomatch.makeRe(glob, { dot: true }).source);
  const matches = new RegExp(sources.join('|'), 'i');
  const exact = new Set(globs.map((glob) => glob.toLowerCase()));
  return (name) => {
    const given = name.slice(-MAX_NAME_LENGTH);
    const plain = snakeCase(given);
    if (!matches.test(plain) && (plain === given || !matches.test(given))) return false;
    return !ORDINARY.test(plain) || exact.has(given.toLowerCase()) || exact.has(plain.toLowerCase());
  };
}

function snakeCase(name: string): string {
  if (!/[A-Z-]/.test(name)) return name;
  return name
    .replace(/^-+/, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .replaceAll('-', '_');
}
