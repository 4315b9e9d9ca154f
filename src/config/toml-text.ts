const MAX_LENGTH = 80;
const MAX_DEPTH = 4;

/** Formats a number as in TOML: `300_000`. */
export function tomlNumber(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return 'inf';
  if (value === Number.NEGATIVE_INFINITY) return '-inf';
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isInteger(value) || Math.abs(value) < 10_000) return String(value);
  return String(value).replace(/\B(?=(\d{3})+$)/g, '_');
}

/** Formats a value as TOML, shortened if long. */
export function valueText(value: unknown, depth = 0): string {
  if (typeof value === 'number') return tomlNumber(value);
  if (value instanceof Date) return 'a date';
  if (Array.isArray(value)) {
    if (depth === MAX_DEPTH) return '[…]';
    return shortened(`[${value.map((item) => valueText(item, depth + 1)).join(', ')}]`);
  }
  if (typeof value === 'object' && value !== null) return 'a table';
  return typeof value === 'string' ? shortened(JSON.stringify(withoutPasswords(value))) : String(value);
}

/** The password of an address, which may have a slash by mistake, and one among its options. */
const PASSWORDS = [/(?<=:\/\/[^\s"'/:@]*:)[^\s"']+(?=@)/g, /(?<=[?&]password=)[^\s"'&]+/g];

/** Masks the passwords of addresses. The text stays as long as it is. */
export function withoutPasswords(text: string): string {
  return PASSWORDS.reduce(
    (masked, pattern) => masked.replace(pattern, (password) => '*'.repeat(password.length)),
    text,
  );
}

/** Formats a key with its tables: `limits.tools."my tool".rate`, `tools.roots[0]`. */
export function keyText(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => {
      if (typeof part === 'number') return `[${part}]`;
      const name = String(part);
      const text = /^[\w-]+$/.test(name) ? name : shortened(JSON.stringify(name));
      return index === 0 ? text : `.${text}`;
    })
    .join('');
}

function shortened(text: string): string {
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH)}…`;
}
