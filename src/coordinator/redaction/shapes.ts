import type { Span } from './span.ts';

/**
 * Well-known shapes of secrets. Each expression takes in whatever it has looked at, or gives up after a bounded number
 * of characters, so that it stays linear: a text comes from a tool, and may be made to be slow. Where that takes in too
 * much, `isSecret` decides.
 */
interface Shape {
  readonly pattern: RegExp;
  readonly isSecret?: (found: string) => boolean;
}

const SHAPES: readonly Shape[] = [
  // Without its end, the rest of the text may belong to the key.
  {
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g,
  },
  // Words joined by hyphens look the same, but for the digits.
  { pattern: /\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}/g, isSecret: (found) => /\d/.test(found) },
  { pattern: /\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{8,}/g },
  { pattern: /\bgh[pousr]_[A-Za-z0-9]{20,}/g },
  { pattern: /\bgithub_pat_[A-Za-z0-9_]{20,}/g },
  { pattern: /\bglpat-[A-Za-z0-9_-]{16,}/g },
  { pattern: /\bnpm_[A-Za-z0-9]{20,}/g },
  { pattern: /\bxox[a-z]-[A-Za-z0-9-]{10,}/g },
  { pattern: /\bA(?:KIA|SIA)[A-Z0-9]{16}\b/g },
  { pattern: /\bAIza[A-Za-z0-9_-]{30,}/g },
  { pattern: /\bya29\.[A-Za-z0-9_-]{20,}/g },
  { pattern: /\bhf_[A-Za-z0-9]{20,}/g },
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

export function shapedSecrets(text: string): Span[] {
  const spans: Span[] = [];
  for (const { pattern, isSecret } of SHAPES)
    for (const { 0: found, index } of text.matchAll(pattern))
      if (isSecret?.(found) ?? true) spans.push([index, index + found.length]);
  for (const { 0: found, index } of text.matchAll(ADDRESS)) {
    // A password may hold an `@` or a `/` that should have been escaped: the last `@` ends it.
    const end = found.lastIndexOf('@');
    if (end !== -1) spans.push([index + 2, index + end]);
  }
  return spans;
}

function isRandom(word: string): boolean {
  return /\d|[a-z][A-Z]/.test(word);
}

function isUserAndPassword(base64: string): boolean {
  const decoded = Buffer.from(base64.trim(), 'base64');
  return decoded.includes(':') && decoded.every((byte) => byte >= 0x20 && byte !== 0x7f);
}
