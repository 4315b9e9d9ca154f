import { printableText } from '../../core/printable-text.ts';

const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const satisfies Record<string, readonly [on: number, off: number]>;

/** Functions that colour a text for the terminal. */
export type Colours = Readonly<Record<keyof typeof CODES, (text: string) => string>>;

// `util.styleText` is missing on the first versions of Node 20, and costs more than a frame may.
const COLOURS = coloursWith((text, [on, off]) => (text === '' ? '' : `\x1b[${on}m${text}\x1b[${off}m`));
const NO_COLOURS = coloursWith((text) => text);

const OWN_STYLE = new RegExp(
  `(${[...new Set(Object.values(CODES).flat())].map((code) => `\\x1b\\[${code}m`).join('|')})`,
);

/** A text whose only commands to a terminal are the styles above. */
export function onlyOwnStyles(text: string): string {
  return text
    .split(OWN_STYLE)
    .map((piece, index) => (index % 2 === 1 ? piece : printableText(piece)))
    .join('');
}

/** Functions that colour, or that leave the text as it is. */
export function createColours(areWanted: boolean): Colours {
  return areWanted ? COLOURS : NO_COLOURS;
}

/**
 * Whether a stream shall get colours. As Node itself decides: FORCE_COLOR goes before NO_COLOR, and that before what
 * the stream is.
 */
export function wantsColours(
  stream: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  const { FORCE_COLOR: force, NO_COLOR: none, TERM: terminal } = env;
  if (force !== undefined) return force !== '0' && force !== 'false';
  if (none !== undefined && none !== '') return false;
  return stream.isTTY === true && terminal !== 'dumb';
}

function coloursWith(colour: (text: string, codes: readonly [on: number, off: number]) => string): Colours {
  const entries = Object.entries(CODES).map(([name, codes]) => [name, (text: string) => colour(text, codes)]);
  return Object.fromEntries(entries) as Colours;
}
