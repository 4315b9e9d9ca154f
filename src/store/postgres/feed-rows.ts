import type { FeedBody } from '../feed.ts';
import { fromStored } from '../rows.ts';
import type { Statements } from './connection.ts';
import { columnsOf } from './task-states.ts';
import { asStored } from './text.ts';

/** An entry to write: its ids are filled in from the keys of the task and of its group, if it has one. */
export type FeedRow = readonly [batch: string, key: number | null, parent: number | null, fields: string];

/**
 * Keeps `feed` locked until the transaction ends, against who begins it anew: the part that finds no row locks the table more
 * than readers do, so that those who only read it, such as a backup, are in nobody's way.
 */
export const IS_FOLLOWED = `
  SELECT followed_until > clock_timestamp() AND NOT EXISTS (SELECT 1 FROM feed WHERE length(token) = 0 FOR KEY SHARE) AS followed FROM feed`;

/**
 * One row for each batch, in the order in which batches were changed: its number is taken while the batch is locked, so
 * that the numbers of a batch grow in the order of its transactions.
 */
const WRITE = `
  INSERT INTO events (batch, body)
  SELECT u.batch, '[' || string_agg('{' || concat_ws(',', '"id":' || to_json(t.id), '"group":' || to_json(g.id), u.fields) || '}',
    ',' ORDER BY u.n) || ']'
  FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[]) WITH ORDINALITY u (batch, key, parent, fields, n)
  LEFT JOIN tasks t ON t.key = u.key LEFT JOIN tasks g ON g.key = u.parent
  GROUP BY u.batch`;

export function writeFeed(statements: Statements, rows: readonly FeedRow[]): Promise<unknown> {
  return statements.run(WRITE, ...columnsOf(rows));
}

/** The entries of a row. Those of tasks that the same transaction has deleted have no id, and say nothing any more. */
export function entriesOf(text: string): (FeedBody | undefined)[] {
  return (JSON.parse(text) as FeedBody[]).map((body) => {
    if (body.event !== undefined) return body;
    if (body.id === undefined) return undefined;
    const { group } = body;
    return { ...body, id: decoded(body.id), ...(group !== undefined && { group: decoded(group) }) };
  });
}

function decoded(text: string): string {
  return fromStored(asStored(text));
}
