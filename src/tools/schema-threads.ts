import { Worker } from 'node:worker_threads';
import { scriptEntry } from '../runners/entry.ts';
import type { JsonSchema, SchemaIssue } from './schema.ts';
import { sourceNameOf } from './tool-source.ts';

const ENTRY = scriptEntry('./schema-worker', import.meta.url);
/** The time limit for one value, including the compilation of its schema; generous, for busy machines. */
const LIMIT_MS = 4000;
/** The maximum number of threads. A source of tools uses at most one, so that none can starve the others. */
const MAX_THREADS = 4;
/** A thread with this many schemas is replaced, because it does not know which are still used. */
const MAX_SCHEMAS = 200;
const MAX_MEMORY_MB = 256;
/** How long an idle thread is kept. */
const IDLE_MS = 5000;

/** A request as JSON: cloning many small objects would take this thread ten times as long. */
export interface SchemaRequest {
  readonly key: number;
  /** Only included the first time. */
  readonly schema: string | undefined;
  readonly value: string;
}

/** A thread's messages: ready, then one answer per request. */
export type SchemaAnswer =
  | 'ready'
  | { readonly issues: readonly SchemaIssue[] }
  | { readonly invalid: string }
  | { readonly failed: string };

/** The schema is `invalid`, or the check was `ended` because it took too long. */
export class SchemaThreadError extends Error {
  constructor(
    readonly kind: 'invalid' | 'ended',
    message: string,
  ) {
    super(message);
    this.name = 'SchemaThreadError';
  }
}

interface Job {
  readonly schema: JsonSchema;
  readonly value: unknown;
  resolve(issues: readonly SchemaIssue[]): void;
  reject(error: unknown): void;
}

const lanes = new Map<string, Lane>();
let threads = 0;
let lastKey = 0;

/** Validates a value in another thread. `tool` is the owner of the schema. */
export function validateInThread(
  tool: string,
  schema: JsonSchema,
  value: unknown,
): Promise<readonly SchemaIssue[]> {
  const source = sourceNameOf(tool);
  let lane = lanes.get(source);
  if (lane === undefined) {
    lane = new Lane(source);
    lanes.set(source, lane);
  }
  return lane.validate(schema, value);
}

/** The queue of one source, processed one value at a time. */
class Lane {
  private readonly jobs: Job[] = [];
  private worker: Worker | undefined;
  private isReady = false;
  private current: Job | undefined;
  private timer: NodeJS.Timeout | undefined;
  /** The schemas that the thread has. */
  private keys = new Map<JsonSchema, number>();

  constructor(private readonly source: string) {}

  get isIdle(): boolean {
    return this.current === undefined && this.jobs.length === 0;
  }

  get isWaiting(): boolean {
    return this.worker === undefined && this.jobs.length > 0;
  }

  validate(schema: JsonSchema, value: unknown): Promise<readonly SchemaIssue[]> {
    return new Promise((resolve, reject) => {
      this.jobs.push({ schema, value, resolve, reject });
      this.next();
    });
  }

  next(): void {
    if (this.current !== undefined || this.jobs.length === 0) return;
    if (this.keys.size >= MAX_SCHEMAS) this.stop();
    if (this.worker === undefined) this.start();
    else if (this.isReady) this.send(this.worker, this.jobs.shift()!);
  }

  /** Ends the thread, and its schemas with it. */
  stop(): void {
    const { worker } = this;
    if (worker === undefined) return;
    clearTimeout(this.timer);
    worker.removeAllListeners();
    // Late messages are ignored, but must not end the process.
    worker.on('error', () => {});
    void worker.terminate();
    this.worker = undefined;
    this.isReady = false;
    this.keys = new Map();
    threads--;
    if (this.isIdle) lanes.delete(this.source);
    for (const lane of lanes.values()) if (lane.isWaiting) lane.next();
  }

  private start(): void {
    if (threads >= MAX_THREADS) {
      for (const lane of lanes.values()) {
        if (!lane.isIdle) continue;
        // Its end starts the next in the queue.
        lane.stop();
        return;
      }
      return;
    }
    threads++;
    const worker = new Worker(ENTRY.url, {
      name: 'volley schemas',
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB },
      ...(ENTRY.execArgv.length > 0 && { execArgv: [...ENTRY.execArgv] }),
    });
    this.worker = worker;
    worker.on('message', (answer: SchemaAnswer) => this.received(answer));
    worker.on('error', (error) => this.fail(new SchemaThreadError('ended', error.message)));
  }

  private send(worker: Worker, job: Job): void {
    clearTimeout(this.timer);
    worker.ref();
    this.current = job;
    const known = this.keys.get(job.schema);
    const key = known ?? ++lastKey;
    try {
      const schema = known === undefined ? JSON.stringify(job.schema) : undefined;
      const value = JSON.stringify(job.value) ?? 'null';
      worker.postMessage({ key, schema, value } satisfies SchemaRequest);
    } catch (error) {
      this.current = undefined;
      job.reject(error);
      this.rest();
      return;
    }
    this.keys.set(job.schema, key);
    const late = () => this.fail(new SchemaThreadError('ended', `it took longer than ${LIMIT_MS} ms`));
    this.timer = setTimeout(late, LIMIT_MS);
  }

  private received(answer: SchemaAnswer): void {
    const job = this.current;
    this.current = undefined;
    if (answer === 'ready') this.isReady = true;
    else if ('issues' in answer) job?.resolve(answer.issues);
    else if ('invalid' in answer) job?.reject(new SchemaThreadError('invalid', answer.invalid));
    else job?.reject(new SchemaThreadError('ended', answer.failed));
    this.rest();
  }

  /** Continues with the next value, or marks the thread as idle. */
  private rest(): void {
    clearTimeout(this.timer);
    if (this.jobs.length > 0) {
      this.next();
      return;
    }
    for (const lane of lanes.values()) {
      if (!lane.isWaiting) continue;
      this.stop();
      return;
    }
    this.worker?.unref();
    this.timer = setTimeout(() => this.stop(), IDLE_MS);
    this.timer.unref();
  }

  /** Discards a broken thread: its current request fails, and the rest goes to another thread. */
  private fail(error: SchemaThreadError): void {
    // A thread that cannot even start would be restarted forever.
    const lost = this.current ?? this.jobs.shift();
    this.current = undefined;
    lost?.reject(error);
    this.stop();
    this.next();
  }
}
