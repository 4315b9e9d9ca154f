const ELLIPSIS = '…';
const LETTER = /[\p{L}\p{N}]/u;

/** What two texts of one kind have in common, with `…` where they differ: `Cannot read "src/….ts"`. */
export function commonText(one: string, other: string): string {
  if (one === other) return one;
  const [left, right] = [one.split(' '), other.split(' ')];
  const words = left.length === right.length ? wordByWord(left, right) : endsOf(left, right);
  return words.filter((word, at) => word !== ELLIPSIS || words[at - 1] !== ELLIPSIS).join(' ');
}

function wordByWord(left: readonly string[], right: readonly string[]): string[] {
  return left.map((word, at) => commonWord(word, right[at]!));
}

/** The same words at the beginning and at the end: what is between cannot be told apart by its place. */
function endsOf(left: readonly string[], right: readonly string[]): string[] {
  const shorter = Math.min(left.length, right.length);
  let before = 0;
  while (before < shorter && left[before] === right[before]) before++;
  let after = 0;
  while (after < shorter - before && left.at(-1 - after) === right.at(-1 - after)) after++;
  return [...left.slice(0, before), ELLIPSIS, ...left.slice(left.length - after)];
}

/** Never cut within letters or digits: of 12 and 13 a 1 in common says nothing. */
function commonWord(one: string, other: string): string {
  if (one === other) return one;
  const shorter = Math.min(one.length, other.length);
  let before = 0;
  while (before < shorter && one[before] === other[before]) before++;
  while (before > 0 && LETTER.test(one[before - 1]!)) before--;
  let after = 0;
  while (after < shorter - before && one.at(-1 - after) === other.at(-1 - after)) after++;
  while (after > 0 && LETTER.test(one.at(-after)!)) after--;
  return `${one.slice(0, before)}${ELLIPSIS}${one.slice(one.length - after)}`.replace(/…+/, ELLIPSIS);
}
