import type { EnvironmentVariables } from '../../config/environment.ts';
import { printableText } from '../../core/printable-text.ts';

const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const satisfies Record<string, readonly [on: number, off: number]>;

/** Functions that color a text. */
export type Colors = Readonly<Record<keyof typeof CODES, (text: string) => string>>;

// Not `util.styleText`, which Node 20.0 lacks, nor picocolors: the filter below must know every code.
const COLORS = colorsWith((text, [on, off]) => (text === '' ? '' : `\x1b[${on}m${text}\x1b[${off}m`));
const NO_COLORS = colorsWith((text) => text);

const OWN_STYLE = new RegExp(
  `(${[...new Set(Object.values(CODES).flat())].map((code) => `\\x1b\\[${code}m`).join('|')})`,
);

/** Removes everything that controls a terminal except the styles above. */
export function onlyOwnStyles(text: string): string {
  return text
    .split(OWN_STYLE)
    .map((piece, index) => (index % 2 === 1 ? piece : printableText(piece)))
    .join('');
}

export function createColors(isEnabled: boolean): Colors {
  return isEnabled ? COLORS : NO_COLORS;
}

/** Decides as Node does: FORCE_COLOR overrides NO_COLOR, which overrides the kind of the stream. */
export function wantsColors(stream: { readonly isTTY?: boolean }, env: EnvironmentVariables): boolean {
  const { FORCE_COLOR: force, NO_COLOR: none, TERM: terminal } = env;
  if (force !== undefined) return force !== '0' && force !== 'false';
  if (none !== undefined && none !== '') return false;
  return stream.isTTY === true && terminal !== 'dumb';
}

function colorsWith(color: (text: string, codes: readonly [on: number, off: number]) => string): Colors {
  const entries = Object.entries(CODES).map(([name, codes]) => [name, (text: string) => color(text, codes)]);
  return Object.fromEntries(entries) as Colors;
}
