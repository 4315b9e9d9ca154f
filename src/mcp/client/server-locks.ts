import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { McpServerSettings } from '../../config/config.ts';
import type { ResourceRequirements } from '../../core/demand.ts';
import { type LockMode, type LockWait, ProcessLock } from '../../store/process-lock.ts';
import { storeError } from '../../store/store-error.ts';

/** Values of arguments share this number of locks between processes: a file for each value would stay behind. */
const VALUE_LOCKS = 32;

/**
 * The locks of a server between processes of one store: each starts a server of its own, and they may change the same
 * files. Where there is no store, calls are serial within this process only.
 */
export class ServerLocks {
  private readonly folder: string;
  private readonly locks = new Map<string, ProcessLock>();
  /** Whether any call is kept from running next to any other. */
  private readonly isNeeded: boolean;
  private hasStore = false;

  constructor(
    private readonly server: string,
    private readonly storeFile: string,
    { parallel, tools }: McpServerSettings,
  ) {
    this.folder = `${storeFile}-locks`;
    const own = Object.values(tools);
    this.isNeeded =
      parallel !== 'all' || own.some(({ parallel: may, lock }) => may === false || lock !== undefined);
  }

  /** Does something while this process holds what the engine has locked for it. `lockName` is the one of the server. */
  async hold<T>(
    lockName: string,
    { shared = [], exclusive = [] }: ResourceRequirements,
    wait: LockWait,
    work: () => Promise<T>,
  ): Promise<T> {
    this.hasStore ||= this.isNeeded && existsSync(this.storeFile);
    if (!this.hasStore) return work();
    const wanted: [string, LockMode][] = [
      [this.server, exclusive.includes(lockName) ? 'exclusive' : 'shared'],
    ];
    const values = [...shared, ...exclusive].filter((name) => name !== lockName);
    // Always in the same order, so that no two wait for each other.
    for (const number of [...new Set(values.map(numberOf))].sort((a, b) => a - b))
      wanted.push([`${this.server}-${number}`, 'exclusive']);
    const releases: (() => void)[] = [];
    try {
      for (const [name, mode] of wanted) releases.push(await this.acquire(name, mode, wait));
      return await work();
    } finally {
      for (const release of releases.reverse()) release();
    }
  }

  close(): void {
    for (const lock of this.locks.values()) lock.close();
    this.locks.clear();
  }

  private async acquire(name: string, mode: LockMode, wait: LockWait): Promise<() => void> {
    let lock = this.locks.get(name);
    if (lock === undefined) {
      lock = new ProcessLock(this.folder, name);
      this.locks.set(name, lock);
    }
    try {
      return await lock.acquire(mode, wait);
    } catch (error) {
      if (wait.signal.aborted) throw error;
      throw storeError(error, this.folder);
    }
  }
}

function numberOf(value: string): number {
  return createHash('sha256').update(value).digest().readUInt32BE() % VALUE_LOCKS;
}
