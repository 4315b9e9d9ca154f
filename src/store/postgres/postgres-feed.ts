import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FeedEvent, FeedPage } from '../feed.ts';
import { fromStored, type StoredText } from '../rows.ts';
import type { Database } from './connection.ts';
import { type Place, placeText, readPlace, readSnapshot, type Snapshot } from './feed-place.ts';
import { entriesOf } from './feed-rows.ts';
import { toTextOrNull } from './text.ts';

/** How long entries are written after the last follower was heard of, and kept at least where they are few. */
const FOLLOWED_S = 300;
const RENEW_MS = 60_000;
/** A feed that is about to end is not renewed but begun anew: some writers may know already that it has ended. */
const MARGIN_S = 30;
/** How many rows are kept. A row has the entries of a transaction, so that they are many more. */
const KEPT_ROWS = 10_000;
/** Old rows are deleted by those who write new ones. */
const ROWS_PER_TRIM = 50;
const TRIMMED_AT_ONCE = 200;
/** The least time between two notifications of a process. */
const NOTIFY_MS = 25;
const PAGE_ROWS = 200;
/** Beginning a feed waits for the transactions under way, and new ones for it: only so long at once, and in all. */
const LOCK_MS = 500;
const TRY_AGAIN_MS = 200;
const MAX_WAIT_MS = 15_000;

const RENEW = `
  UPDATE feed SET followed_until = greatest(followed_until, clock_timestamp() + interval '${FOLLOWED_S} s')
  WHERE followed_until > clock_timestamp() + interval '${MARGIN_S} s'`;
const BEGIN_ANEW = `
  UPDATE feed SET (token, trimmed, followed_until) =
    (left(md5(gen_random_uuid()::text), 12), '0', clock_timestamp() + interval '${FOLLOWED_S} s')`;
const END = 'SELECT token, pg_current_snapshot()::text AS now FROM feed';
/** Rows that a snapshot does not see belong to transactions that began later, or that were running then. */
const PAGE = `
  SELECT s.now::text AS now, pg_current_snapshot()::text AS latest, f.token, f.trimmed::text AS trimmed, e.id, e.batch, e.body
  FROM (SELECT coalesce($1::pg_snapshot, pg_current_snapshot()) AS now) s CROSS JOIN feed f
  LEFT JOIN LATERAL (
    SELECT o.id, o.batch, o.body FROM (
      SELECT * FROM events WHERE xid >= $2::xid8 UNION ALL SELECT * FROM events WHERE xid = ANY($3::xid8[])) o
    WHERE o.id >= $4 AND pg_visible_in_snapshot(o.xid, s.now) AND ($5::text IS NULL OR o.batch = $5::text)
    ORDER BY o.id LIMIT ${PAGE_ROWS}) e ON true
  ORDER BY e.id`;
const ARE_RUNNING = `SELECT bool_and(pg_xact_status(x) = 'in progress') AS running FROM unnest($1::xid8[]) x`;
const TRIM = `
  WITH gone AS (
    DELETE FROM events WHERE (xid, id) IN (
      SELECT o.xid, o.id FROM (SELECT xid, id, at FROM events ORDER BY xid, id LIMIT ${TRIMMED_AT_ONCE}) o
      WHERE o.at < clock_timestamp() - interval '${FOLLOWED_S} s'
        OR o.id <= (SELECT last_value FROM events_id_seq) - ${KEPT_ROWS})
    RETURNING xid)
  UPDATE feed SET trimmed = greatest(trimmed, (SELECT xid FROM gone ORDER BY xid DESC LIMIT 1))
  WHERE EXISTS (SELECT 1 FROM gone)`;

interface PageRow {
  readonly now: string;
  readonly latest: string;
  readonly token: string;
  readonly trimmed: string;
  /** Null if there is no row. */
  readonly id: number | null;
  readonly batch: StoredText;
  readonly body: string;
}

/**
 * The rows of `events`. A row is before a place if the snapshot of the place sees its transaction, so a transaction that
 * commits late, or one that is open for long, hides nothing and delays nothing. Transactions lock the batches that they
 * change, so the rows of a batch are numbered in the order of its changes.
 */
export class PostgresFeed {
  private readonly followers = new Set<() => void>();
  private readonly channel: string;
  private notifying: NodeJS.Timeout | undefined;
  private isNotificationDue = false;
  private sinceTrim = 0;
  /** Whether the last transaction wrote entries. */
  isFollowed = false;

  constructor(private readonly database: Database) {
    // A channel is known in a whole database.
    this.channel = `volley_${createHash('sha256').update(database.schema).digest('hex').slice(0, 16)}`;
  }

  async follow(onNews: () => void): Promise<() => void> {
    await this.register();
    this.isFollowed = true;
    this.followers.add(onNews);
    const unlisten = this.database.listen(this.channel, onNews);
    const timer = setInterval(() => void this.register().catch(() => undefined), RENEW_MS).unref();
    return () => {
      clearInterval(timer);
      unlisten();
      this.followers.delete(onNews);
    };
  }

  async end(): Promise<string> {
    const [row] = await this.database.once((statements) =>
      statements.rows<{ token: string; now: string }>(END),
    );
    return placeText({ token: row!.token, seen: readSnapshot(row!.now)! });
  }

  async read(
    after: string,
    { until, batch }: { readonly until?: string; readonly batch?: string } = {},
  ): Promise<FeedPage | undefined> {
    const place = readPlace(after);
    if (place === undefined) return undefined;
    const { token, seen, part } = place;
    const end = until === undefined ? undefined : readPlace(until)!.seen;
    const rows = await this.database.once((statements) =>
      statements.rows<PageRow>(
        PAGE,
        (part?.to ?? end)?.text ?? null,
        seen.xmax,
        seen.running,
        part?.row ?? 0,
        toTextOrNull(batch),
      ),
    );
    const first = rows[0]!;
    const isOurs = first.token === token && (part?.to ?? seen).xmax <= readSnapshot(first.latest)!.xmax;
    if (!isOurs || !(await this.isKept(seen, Number(first.trimmed)))) return undefined;
    const to = readSnapshot(first.now)!;
    const events: FeedEvent[] = [];
    let next: Place = { token, seen: to };
    for (const { id: row, batch: name, body } of rows) {
      if (row === null) break;
      const entries = entriesOf(body);
      next = { token, seen, part: { to, row, index: entries.length - 1 } };
      for (const [index, entry] of entries.entries()) {
        if (entry === undefined || (row === part?.row && index <= part.index)) continue;
        const own = placeText({ token, seen, part: { to, row, index } });
        events.push({ batch: fromStored(name), body: entry, place: own });
      }
    }
    if (rows.length === PAGE_ROWS) return { events, next: placeText(next), isLast: false };
    const isLast = end === undefined ? part === undefined : end.text === to.text;
    return { events, next: placeText({ token, seen: to }), isLast };
  }

  /** Called after each commit of this process. */
  committed(isFollowed: boolean | undefined, hasNews: boolean): void {
    this.isFollowed = isFollowed ?? this.isFollowed;
    if (!hasNews) return;
    for (const onNews of this.followers) onNews();
    this.isNotificationDue = true;
    if (this.notifying === undefined) this.notify();
    if (++this.sinceTrim < ROWS_PER_TRIM) return;
    this.sinceTrim = 0;
    this.aside(TRIM);
  }

  /** Not in the transactions themselves: those with a notification are committed one after the other. */
  private readonly notify = (): void => {
    this.notifying = undefined;
    if (!this.isNotificationDue) return;
    this.isNotificationDue = false;
    this.aside(`SELECT pg_notify('${this.channel}', '')`);
    this.notifying = setTimeout(this.notify, NOTIFY_MS).unref();
  };

  /** What the next one makes up for if it fails. */
  private aside(sql: string): void {
    this.database.once((statements) => statements.run(sql), 0).catch(() => undefined);
  }

  private async register(): Promise<void> {
    const deadline = performance.now() + MAX_WAIT_MS;
    for (;;) {
      try {
        if ((await this.database.once((statements) => statements.run(RENEW))) === 0) await this.beginAnew();
        return;
      } catch (error) {
        if (performance.now() > deadline) throw error;
      }
      await sleep(TRY_AGAIN_MS);
    }
  }

  /**
   * A transaction reads `feed` before it decides whether to write entries, and so keeps it locked until its end: after this,
   * none is under way that did not write its own. Places from before are not of this feed.
   */
  private beginAnew(): Promise<void> {
    return this.database.once(async (statements) => {
      await statements.run('BEGIN');
      await statements.run(`SET LOCAL lock_timeout = ${LOCK_MS}`);
      await statements.run('LOCK TABLE feed IN EXCLUSIVE MODE');
      // Another process may have done it meanwhile.
      if ((await statements.run(RENEW)) === 0) {
        await statements.run('DELETE FROM events');
        await statements.run(BEGIN_ANEW);
      }
      await statements.run('COMMIT');
    });
  }

  /**
   * Whether no row after a snapshot was deleted. Rows of a transaction that was running then may have been, unless it
   * still is, without rows: it belongs to another program.
   */
  private async isKept(seen: Snapshot, trimmed: number): Promise<boolean> {
    if (trimmed >= seen.xmax) return false;
    const doubtful = seen.running.filter((xid) => xid <= trimmed);
    if (doubtful.length === 0) return true;
    const [row] = await this.database.once((statements) =>
      statements.rows<{ running: boolean | null }>(ARE_RUNNING, doubtful),
    );
    return row!.running === true;
  }
}
