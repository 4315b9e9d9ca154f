import picomatch from 'picomatch';

/** What stands where a secret was. */
const REMOVED = '[redacted]';

/** Values shorter than this would remove half of every text, and protect nobody. */
const SHORTEST_SECRET = 6;

/** How far beyond the visible part a text is searched, so that no secret is cut in half and half shown. */
const MARGIN = 8192;

/** Shapes of well-known tokens. Each is linear: a text comes from a tool, and may be made to be slow. */
const SHAPES: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g,
  /\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}/g,
  /\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{8,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\bglpat-[A-Za-z0-9_-]{16,}/g,
  /\bnpm_[A-Za-z0-9]{20,}/g,
  /\bxox[a-z]-[A-Za-z0-9-]{10,}/g,
  /\bA(?:KIA|SIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\bya29\.[A-Za-z0-9_-]{20,}/g,
  /\bhf_[A-Za-z0-9]{20,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
  /\b(?:Bearer|Basic|token)\s+[A-Za-z0-9+/._~-]{12,}={0,2}/gi,
];

/** Credentials in an address: `//user:password@host`. */
const ADDRESS = /\/\/[^\s/:@]{0,256}:[^\s/@]{1,512}@/g;

/** A name and its value: `password=…`, `"api_key": "…"`. */
const ASSIGNMENT =
  /(["']?)([A-Za-z_][\w-]{0,63})\1(\s{0,3}[=:]\s{0,3})("[^"\n]{1,512}"|'[^'\n]{1,512}'|[^\s"',;&)}\]]{1,512})/g;

export interface RedactorOptions {
  /** Globs of names whose values are secret: of environment variables, and of fields inside texts. */
  readonly names: readonly string[];
  /** How much of a text is shown. */
  readonly maxTextLength: number;
  /** Where the values are found. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Takes secrets out of texts that leave the process, and bounds their length. */
export class Redactor {
  private readonly values: readonly string[];
  private readonly isSecretName: (name: string) => boolean;
  private readonly maxTextLength: number;

  constructor({ names, maxTextLength, env }: RedactorOptions) {
    this.maxTextLength = maxTextLength;
    this.isSecretName = names.length === 0 ? () => false : picomatch([...names], { nocase: true, dot: true });
    this.values = Object.entries(env)
      .filter(([name, value]) => value !== undefined && this.isSecretName(name))
      .map(([, value]) => value!)
      .filter((value) => value.length >= SHORTEST_SECRET)
      // The longest first: one secret may be the beginning of another.
      .sort((a, b) => b.length - a.length);
  }

  text(text: string): string {
    let safe = text.length > this.maxTextLength + MARGIN ? text.slice(0, this.maxTextLength + MARGIN) : text;
    for (const value of this.values) safe = safe.replaceAll(value, REMOVED);
    for (const shape of SHAPES) safe = safe.replace(shape, REMOVED);
    safe = safe.replace(ADDRESS, `//${REMOVED}@`);
    safe = safe.replace(ASSIGNMENT, (whole, quote: string, name: string, between: string) =>
      this.isSecretName(name) ? `${quote}${name}${quote}${between}${REMOVED}` : whole,
    );
    if (safe.length <= this.maxTextLength && text.length <= this.maxTextLength + MARGIN) return safe;
    return `${safe.slice(0, this.maxTextLength)}… (${text.length} characters)`;
  }
}
