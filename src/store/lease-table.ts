import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import { VolleyError } from '../core/errors.ts';
import { livesAsSeenBy, type ProcessIdentity, steadyMs } from './process-identity.ts';
import type { LeaseHolder } from './records.ts';
import { fromStored, type StoredText, toStored } from './text.ts';

/** A holder that cannot be seen from here is taken for dead when nothing was heard of it for so long. */
const SILENCE_MS = 30_000;

interface LeaseRow {
  readonly token: string;
  readonly pid: number;
  readonly host: StoredText;
  readonly boot: string;
  readonly namespace: string | null;
  readonly process_start: string | null;
  readonly since: number;
  readonly seen_at: number;
  readonly beat: number;
}

/** The rows of leases, for one connection. */
export class LeaseTable {
  private readonly select: StatementSyncInstance;

  constructor(
    connection: DatabaseSyncInstance,
    private readonly self: ProcessIdentity,
    private readonly now: () => number,
  ) {
    this.select = connection.prepare('SELECT * FROM leases WHERE batch = ?');
  }

  /** The living holder of a batch. */
  holderOf(batchId: number): (LeaseHolder & { readonly token: string }) | undefined {
    const row = this.select.get(batchId) as LeaseRow | undefined;
    if (row === undefined || !this.lives(row)) return undefined;
    const { token, pid, since, seen_at: seenAt } = row;
    return { token, pid, host: fromStored(row.host), since, seenAt };
  }

  /** When the holder of a batch was last heard of, whether it lives or not. */
  lastSeen(batchId: number): number | undefined {
    return (this.select.get(batchId) as LeaseRow | undefined)?.seen_at;
  }

  /**
   * Whether a process that can be seen lives is certain, whatever clocks say. Of others on this system, the steady clock
   * tells how long they have been silent; of those elsewhere only the time of day does, in whichever direction it
   * jumped.
   */
  private lives(row: LeaseRow): boolean {
    const seen = livesAsSeenBy(this.self, {
      pid: row.pid,
      host: fromStored(row.host),
      boot: row.boot,
      namespace: row.namespace ?? undefined,
      start: row.process_start ?? undefined,
    });
    if (seen !== undefined) return seen;
    const silenceMs =
      row.boot === this.self.boot ? steadyMs() - row.beat : Math.abs(this.now() - row.seen_at);
    return silenceMs >= 0 && silenceMs < SILENCE_MS;
  }
}

/** The rows of leases, as writes change them. */
export class LeaseWrites {
  private readonly insert: StatementSyncInstance;
  private readonly update: StatementSyncInstance;
  private readonly remove: StatementSyncInstance;
  private readonly removeAny: StatementSyncInstance;
  private readonly token: StatementSyncInstance;

  constructor(
    writer: DatabaseSyncInstance,
    private readonly self: ProcessIdentity,
  ) {
    this.insert = writer.prepare(
      `INSERT OR REPLACE INTO leases
         (batch, token, pid, host, boot, namespace, process_start, since, seen_at, beat)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.update = writer.prepare('UPDATE leases SET seen_at = ?, beat = ? WHERE batch = ? AND token = ?');
    this.remove = writer.prepare('DELETE FROM leases WHERE batch = ? AND token = ?');
    this.removeAny = writer.prepare('DELETE FROM leases WHERE batch = ?');
    this.token = writer.prepare('SELECT 1 FROM leases WHERE batch = ? AND token = ?');
  }

  claim(batchId: number, token: string, at: number): void {
    const { pid, host, boot, namespace = null, start = null } = this.self;
    this.insert.run(batchId, token, pid, toStored(host), boot, namespace, start, at, at, steadyMs());
  }

  renew(batchId: number, token: string, at: number): void {
    this.update.run(at, steadyMs(), batchId, token);
  }

  isHeld(batchId: number, token: string): boolean {
    return this.token.get(batchId, token) !== undefined;
  }

  release(batchId: number, token: string): void {
    this.remove.run(batchId, token);
  }

  /** Takes away what a dead process has left. */
  discard(batchId: number): void {
    this.removeAny.run(batchId);
  }
}

export function heldError(batch: string, holder: LeaseHolder): VolleyError {
  const { pid, host, since } = holder;
  return new VolleyError(
    'BATCH_HELD',
    `The batch ${JSON.stringify(batch)} is being run by process ${pid} on ${host} since ${new Date(since).toISOString()}. ` +
      'Wait for its end or stop it; other batches can be run meanwhile.',
    { batch, holder },
  );
}
