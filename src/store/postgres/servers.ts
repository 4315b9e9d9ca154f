import { isVisibleTo, livesAsSeenBy, type ProcessIdentity } from '../process-identity.ts';
import type { LeaseHolder } from '../records.ts';
import { fromStored, type StoredText } from '../rows.ts';
import type { LeadershipState, ServerDetails, SharedServers, StoredServer } from '../shared-servers.ts';
import type { HolderRequest } from '../store.ts';
import type { Database, Statements } from './connection.ts';
import type { LeaseRow } from './holders.ts';
import { toText } from './text.ts';

/** Rows of servers that have been silent for this long are removed. */
const FORGOTTEN_MS = 3_600_000;
/** A server that was heard of within this time is there. */
const ALIVE_MS = 10_000;
/** How often a batch is taken over without a task of it ending in between. */
const MAX_TAKEOVERS = 5;

const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
const JOIN = `
  INSERT INTO servers (identity, address, ready, since, seen_at) VALUES ($1, $2, $3, ${NOW}, ${NOW}) RETURNING id`;
const SEEN = `UPDATE servers SET seen_at = ${NOW}, ready = $2 WHERE id = $1 RETURNING id`;
const FORGET = `DELETE FROM servers WHERE id = $1 OR seen_at < ${NOW} - ${FORGOTTEN_MS}`;
const RENEW = 'UPDATE leader SET beat = beat + 1 WHERE server = $1 AND epoch = $2';
const STATE = `
  SELECT l.server, l.epoch, l.beat, s.identity,
    EXISTS (SELECT 1 FROM servers o WHERE o.id <> $1 AND o.ready AND o.seen_at > ${NOW} - $2::bigint) AS others_ready
  FROM leader l LEFT JOIN servers s ON s.id = l.server`;
const CLAIM = `
  UPDATE leader SET server = $1, epoch = epoch + 1, beat = beat + 1 WHERE epoch = $2 AND beat = $3 RETURNING epoch`;
const RESIGN = 'UPDATE leader SET server = NULL WHERE server = $1';
const STORE_ID = 'SELECT store::text AS store FROM leader';
const LIST = `
  SELECT s.identity, s.address, s.ready, s.since, ${NOW} - s.seen_at AS silent_ms,
    coalesce(s.id = l.server, false) AS leads
  FROM servers s CROSS JOIN leader l ORDER BY s.id`;
const ORPHANS = `
  SELECT ${NOW} AS now, b.name, s.takeovers, s.settled, b.completed + b.failed + b.cancelled + b.skipped AS ended, l.*
  FROM served s JOIN batches b ON b.id = s.batch LEFT JOIN leases l ON l.batch = b.id ORDER BY b.id`;
const WILL_CONTINUE = `
  SELECT EXISTS (SELECT 1 FROM served s JOIN batches b ON b.id = s.batch WHERE b.name = $1)
    AND EXISTS (SELECT 1 FROM servers WHERE seen_at > ${NOW} - ${ALIVE_MS}) AS continues`;
const LEAVE_ALONE = 'DELETE FROM served WHERE batch = (SELECT id FROM batches WHERE name = $1)';
/** Requests to whoever leads have the number of no batch. */
const ASK = 'INSERT INTO requests (batch, body) VALUES (0, $1) RETURNING id';
const ASKED = 'SELECT id, body FROM requests WHERE batch = 0 AND answer IS NULL ORDER BY id';

interface StateRow {
  readonly server: number | null;
  readonly epoch: number;
  readonly beat: number;
  readonly identity: StoredText | null;
  readonly others_ready: boolean;
}

interface ServerRow {
  readonly identity: StoredText;
  readonly address: StoredText;
  readonly ready: boolean;
  readonly since: number;
  readonly silent_ms: number;
  readonly leads: boolean;
}

type OrphanRow = LeaseRow & {
  readonly now: number;
  readonly name: StoredText;
  readonly takeovers: number;
  readonly settled: number;
  readonly ended: number;
};

/** The servers of a store in PostgreSQL. What they do is decided by `Election`. */
export class PostgresServers implements SharedServers {
  private id: number | undefined;

  constructor(
    private readonly database: Database,
    private readonly self: ProcessIdentity,
    private readonly parts: {
      /** From now on, other servers continue what this process leaves behind. */
      joined(): void;
      holderOf(lease: LeaseRow | undefined, now: number): LeaseHolder | undefined;
    },
  ) {}

  async storeId(): Promise<string> {
    const [row] = await this.database.once((statements) => statements.rows<{ store: StoredText }>(STORE_ID));
    return fromStored(row!.store);
  }

  async join(details: ServerDetails): Promise<void> {
    await this.database.once((statements) => this.register(statements, details, false));
    this.parts.joined();
  }

  async beat(
    epoch: number,
    details: ServerDetails,
    isReady: boolean,
    aliveMs: number,
  ): Promise<LeadershipState> {
    return this.database.urgent(async (statements) => {
      // In the turn of the event loop in which it is called, so that they share a round trip.
      const [seen, , [row]] = await Promise.all([
        statements.rows(SEEN, this.id!, isReady),
        statements.run(RENEW, this.id!, epoch),
        statements.rows<StateRow>(STATE, this.id!, aliveMs),
      ]);
      // It was silent for so long that it was forgotten.
      if (seen.length === 0) await this.register(statements, details, isReady);
      const { server, beat, identity, others_ready: othersAreReady } = row!;
      const leader = identity === null ? undefined : (JSON.parse(fromStored(identity)) as ProcessIdentity);
      // Machines may share a name, so a host of this name that has another boot says nothing.
      const isSeen = leader !== undefined && isVisibleTo(this.self, leader);
      const isGone = isSeen && livesAsSeenBy(this.self, leader) === false;
      return {
        epoch: row!.epoch,
        beat,
        isOwn: server !== null && server === this.id && row!.epoch === epoch,
        isVacant: server === null || identity === null || isGone,
        othersAreReady,
      };
    });
  }

  async claim({ epoch, beat }: LeadershipState): Promise<number | undefined> {
    const [row] = await this.database.urgentOnce((statements) =>
      statements.rows<{ epoch: number }>(CLAIM, this.id!, epoch, beat),
    );
    return row?.epoch;
  }

  async resign(): Promise<void> {
    await this.database.urgentOnce((statements) => statements.run(RESIGN, this.id!));
  }

  async leave(): Promise<void> {
    const { id } = this;
    if (id === undefined) return;
    await this.database.urgentOnce((statements) =>
      Promise.all([statements.run(RESIGN, id), statements.run(FORGET, id)]),
    );
  }

  async list(): Promise<StoredServer[]> {
    const rows = await this.database.once((statements) => statements.rows<ServerRow>(LIST));
    return rows.map(({ identity, address, ready, since, silent_ms: silentMs, leads }) => {
      const { host, pid } = JSON.parse(fromStored(identity)) as ProcessIdentity;
      return { host, pid, address: fromStored(address), isReady: ready, isLeader: leads, since, silentMs };
    });
  }

  async orphans(): Promise<{ batch: string; isHopeless: boolean }[]> {
    const rows = await this.database.urgent((statements) => statements.rows<OrphanRow>(ORPHANS));
    return rows
      .filter((row) => this.parts.holderOf(row.batch === null ? undefined : row, row.now) === undefined)
      .map(({ name, takeovers, settled, ended }) => ({
        batch: fromStored(name),
        isHopeless: takeovers >= MAX_TAKEOVERS && ended <= settled,
      }));
  }

  async willContinue(batch: string): Promise<boolean> {
    const [row] = await this.database.once((statements) =>
      statements.rows<{ continues: boolean }>(WILL_CONTINUE, toText(batch)),
    );
    return row!.continues;
  }

  async leaveAlone(batch: string): Promise<void> {
    await this.database.once((statements) => statements.run(LEAVE_ALONE, toText(batch)));
  }

  async ask(body: string): Promise<number> {
    const [row] = await this.database.once(
      (statements) => statements.rows<{ id: number }>(ASK, toText(body)),
      // Repeating it could make the request twice.
      0,
    );
    return row!.id;
  }

  async asked(): Promise<HolderRequest[]> {
    const rows = await this.database.once(
      (statements) => statements.rows<{ id: number; body: StoredText }>(ASKED),
      0,
    );
    return rows.map(({ id, body }) => ({ id, body: fromStored(body) }));
  }

  private async register(
    statements: Statements,
    { address }: ServerDetails,
    isReady: boolean,
  ): Promise<void> {
    const [row] = await statements.rows<{ id: number }>(
      JOIN,
      toText(JSON.stringify(this.self)),
      toText(address),
      isReady,
    );
    this.id = row!.id;
  }
}
