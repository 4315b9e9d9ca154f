/** Which transactions somebody sees, as PostgreSQL writes it: `xmin:xmax:` and those between that were running. */
export interface Snapshot {
  readonly text: string;
  readonly xmin: number;
  readonly xmax: number;
  readonly running: readonly number[];
}

/** A place in the feed of a store. */
export interface Place {
  /** Names the time during which the feed was written without a break. */
  readonly token: string;
  /** All that this sees comes before the place. */
  readonly seen: Snapshot;
  /** If some of what follows comes before it, too: of what `to` sees besides, everything up to this entry of this row. */
  readonly part?: { readonly to: Snapshot; readonly row: number; readonly index: number };
}

/** A place with more transactions under way is not given to clients in practice. It comes as a header. */
const MAX_LENGTH = 4000;
const PLACE = /^([0-9a-f]{12})\/([\d:,]+)(?:\/([\d:,]+)\/(\d{1,15})\.(\d{1,7}))?$/;
const SNAPSHOT = /^(\d{1,15}):(\d{1,15}):((?:\d{1,15}(?:,\d{1,15})*)?)$/;

export function placeText({ token, seen, part }: Place): string {
  const place = `${token}/${seen.text}`;
  return part === undefined ? place : `${place}/${part.to.text}/${part.row}.${part.index}`;
}

/** Undefined for text that no store has written. */
export function readPlace(text: string): Place | undefined {
  const found = text.length > MAX_LENGTH ? null : PLACE.exec(text);
  if (found === null) return undefined;
  const [, token, first, second, row, index] = found;
  const seen = readSnapshot(first!);
  if (seen === undefined) return undefined;
  if (second === undefined) return { token: token!, seen };
  const to = readSnapshot(second);
  return to && { token: token!, seen, part: { to, row: Number(row), index: Number(index) } };
}

export function readSnapshot(text: string): Snapshot | undefined {
  const found = SNAPSHOT.exec(text);
  if (found === null) return undefined;
  const [xmin, xmax] = [Number(found[1]), Number(found[2])];
  const running = found[3] === '' ? [] : found[3]!.split(',').map(Number);
  const isOrdered = running.every((xid, index) => xid > (running[index - 1] ?? xmin - 1) && xid < xmax);
  return xmin >= 1 && xmin <= xmax && isOrdered ? { text, xmin, xmax, running } : undefined;
}
