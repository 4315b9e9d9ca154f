import { VolleyError } from '../../core/errors.ts';

/** The bytes from `start` to before `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

const RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/** What a header `Range` asks for; undefined for all, also where it is of a form that we do not serve. */
export function byteRange(header: string | undefined, total: number): ByteRange | undefined {
  const [, first, last] = header === undefined ? [] : (RANGE.exec(header) ?? []);
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  const start = first === '' ? Math.max(0, total - Number(last)) : Number(first);
  const end = first === '' || last === '' ? total : Math.min(total, Number(last) + 1);
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  if (start < total && end > start) return { start, end };
  throw new VolleyError('RANGE_NOT_SATISFIABLE', `The result has ${total} bytes: ask for a part of them.`, {
    total,
  });
}
