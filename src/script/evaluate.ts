import { availableParallelism } from 'node:os';
import type { Worker } from 'node:worker_threads';
import { type ErrorCode, VolleyError } from '../core/errors.ts';
import { scriptEntry } from '../runners/entry.ts';
import { expressionText } from './expression-text.ts';
import { isName } from './names.ts';
import { endScriptThread, startScriptThread } from './script-thread.ts';

const ENTRY = scriptEntry('./evaluate-worker', import.meta.url);
const MAX_THREADS = Math.min(4, Math.max(1, availableParallelism() - 1));
/** How long an idle thread is kept. */
const IDLE_MS = 5000;
/** The time limit of a request; generous, for busy machines. */
const LIMIT_MS = 5000;
/** How much later a thread is ended that does not notice its time limit, because it is in a native function. */
const GRACE_MS = 500;
const MEMORY_MB = 256;
const MAX_VALUE_CHARS = 64 << 20;
/** What is evaluated in one request. */
const MAX_ITEMS = 100;
const MAX_ITEM_CHARS = 1 << 20;

/** An expression and the results that it mentions. */
export interface Expression {
  readonly source: string;
  /** JSON texts by id; `undefined` is the value undefined. Where the id is a name, the name can be used alone. */
  readonly results: ReadonlyMap<string, string | undefined>;
  /** 5 s unless given. */
  readonly limitMs?: number;
  /** 256 MB unless given. */
  readonly memoryMb?: number;
}

/** Other names that an expression can use, such as `item`: JSON texts, where `undefined` is the value undefined. */
export type Names = Readonly<Record<string, string | undefined>>;

/** A value as JSON text (`undefined` is the value undefined), or why there is none. */
export type Evaluation =
  | { readonly value: string | undefined; readonly error?: undefined }
  | { readonly error: VolleyError };

/** Why a thread could not evaluate something. The place is in the source, counted from 1. */
export interface EvaluationFailure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
}

/** One expression for one or more sets of names, as texts: cloning objects would take this thread longer. */
export interface EvaluationRequest {
  readonly source: string;
  /** A JSON list of pairs; a pair without a value is undefined. */
  readonly results: string;
  /** A JSON list of the ids that are names. */
  readonly names: string;
  /** Lists of pairs like `results`. */
  readonly items: readonly string[];
  readonly limitMs: number;
  readonly memoryMb: number;
  /** The maximum length of all values together. */
  readonly maxChars: number;
}

export type Evaluated = { readonly value: string | undefined } | { readonly error: EvaluationFailure };

/** A thread's answer to a request: what became of each item, or why the request failed. A spent thread is replaced. */
export type EvaluationAnswer = { readonly isSpent: boolean } & (
  | { readonly evaluated: readonly Evaluated[] }
  | { readonly failure: EvaluationFailure }
);

interface Job {
  readonly request: EvaluationRequest;
  resolve(evaluated: readonly Evaluated[]): void;
  reject(error: VolleyError): void;
}

/**
 * Evaluates an expression in another thread. The value is JSON text. It depends on nothing but the arguments: time and
 * randomness are errors. All errors are permanent.
 */
export async function evaluate(expression: Expression, names: Names = {}): Promise<string | undefined> {
  const [evaluation] = await evaluateMany(expression, [names]);
  if (evaluation!.error !== undefined) throw evaluation!.error;
  return evaluation!.value;
}

/**
 * Evaluates an expression for each set of names, with its own copy of the results. An evaluation that throws fails
 * alone. One that exceeds a limit fails all.
 */
export async function evaluateMany(
  expression: Expression,
  list: readonly Names[],
): Promise<readonly Evaluation[]> {
  const source = expressionText(expression.source);
  const request: Omit<EvaluationRequest, 'items'> = {
    source,
    results: pairs(expression.results),
    names: JSON.stringify([...expression.results.keys()].filter(isName)),
    limitMs: expression.limitMs ?? LIMIT_MS,
    memoryMb: expression.memoryMb ?? MEMORY_MB,
    maxChars: MAX_VALUE_CHARS,
  };
  const evaluations: Evaluation[] = [];
  for (const items of chunks(list)) {
    requireRoom(request, items);
    for (const evaluated of await ask({ ...request, items }))
      evaluations.push(toEvaluation(source, evaluated));
  }
  return evaluations;
}

/** Splits the items into requests of limited number and size. */
function* chunks(list: readonly Names[]): Generator<readonly string[]> {
  let chunk: string[] = [];
  let chars = 0;
  for (const names of list) {
    const item = pairs(Object.entries(names));
    if (chunk.length === MAX_ITEMS || (chunk.length > 0 && chars + item.length > MAX_ITEM_CHARS)) {
      yield chunk;
      chunk = [];
      chars = 0;
    }
    chunk.push(item);
    chars += item.length;
  }
  if (chunk.length > 0) yield chunk;
}

function pairs(values: Iterable<readonly [string, string | undefined]>): string {
  const texts: string[] = [];
  for (const [name, value] of values) {
    texts.push(value === undefined ? `[${JSON.stringify(name)}]` : `[${JSON.stringify(name)},${value}]`);
  }
  return `[${texts.join(',')}]`;
}

/** A text is in the VM more than once while it is parsed. */
function requireRoom(
  { results, memoryMb }: Omit<EvaluationRequest, 'items'>,
  items: readonly string[],
): void {
  const chars = items.reduce((sum, item) => sum + item.length, results.length);
  if (chars <= (memoryMb << 20) / 4) return;
  const megabytes = Math.ceil(chars / (1 << 20));
  const message = `The expression uses results of ${megabytes} MB, more than fits into its ${memoryMb} MB of memory`;
  throw permanent(new VolleyError('EXPRESSION_MEMORY', `${message}. Reduce them in an earlier task.`));
}

function toEvaluation(source: string, evaluated: Evaluated): Evaluation {
  return 'error' in evaluated ? { error: toError(source, evaluated.error) } : evaluated;
}

function toError(source: string, { code, message, line, column }: EvaluationFailure): VolleyError {
  const place = line === undefined || column === undefined ? undefined : { line, column };
  const text = `The expression ${message} (in "${excerpt(source, place)}").`;
  return permanent(new VolleyError(code, text, { ...place }));
}

/** A short part of the source: around a place, or its start. */
function excerpt(source: string, place = { line: 1, column: 1 }): string {
  const line = source.split('\n')[place.line - 1]?.trimEnd() ?? '';
  const from = Math.max(0, place.column - 30);
  const to = from + 60;
  return `${from > 0 ? '…' : ''}${line.slice(from, to)}${to < line.length ? '…' : ''}`;
}

/** An expression gives the same error again. */
function permanent(error: VolleyError): VolleyError {
  return Object.assign(error, { retryable: false });
}

const jobs: Job[] = [];
const threads = new Set<Thread>();

function ask(request: EvaluationRequest): Promise<readonly Evaluated[]> {
  return new Promise((resolve, reject) => {
    jobs.push({ request, resolve, reject });
    assign();
  });
}

/** Gives waiting jobs to idle threads. Starts one more if there are more jobs than threads that can take them. */
function assign(): void {
  let starting = 0;
  for (const thread of threads) {
    if (thread.isStarting) starting++;
    else if (thread.isIdle && jobs.length > 0) thread.send(jobs.shift()!);
  }
  if (jobs.length > starting && threads.size < MAX_THREADS) threads.add(new Thread());
}

class Thread {
  isStarting = true;
  private readonly worker: Worker;
  private job: Job | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor() {
    this.worker = startScriptThread(ENTRY, 'volley expressions');
    this.worker.on('message', (answer: 'ready' | EvaluationAnswer) => this.received(answer));
    this.worker.on('error', ({ message }) => {
      const code = this.isStarting ? 'INTERNAL' : 'EXPRESSION_MEMORY';
      this.fail({ code, message: `lost its thread: ${message}` });
    });
  }

  get isIdle(): boolean {
    return !this.isStarting && this.job === undefined;
  }

  send(job: Job): void {
    const { limitMs } = job.request;
    clearTimeout(this.timer);
    this.job = job;
    this.worker.ref();
    this.worker.postMessage(job.request);
    const failure = { code: 'EXPRESSION_TIMEOUT', message: `took longer than ${limitMs} ms` } as const;
    this.timer = setTimeout(() => this.fail(failure), limitMs + GRACE_MS);
  }

  private received(answer: 'ready' | EvaluationAnswer): void {
    const { job } = this;
    this.job = undefined;
    clearTimeout(this.timer);
    if (answer === 'ready') this.isStarting = false;
    else {
      if (answer.isSpent) this.end();
      if ('evaluated' in answer) job?.resolve(answer.evaluated);
      else job?.reject(toError(job.request.source, answer.failure));
    }
    assign();
    if (this.isIdle) this.rest();
  }

  private rest(): void {
    this.worker.unref();
    this.timer = setTimeout(() => this.end(), IDLE_MS);
    this.timer.unref();
  }

  private end(): void {
    clearTimeout(this.timer);
    threads.delete(this);
    endScriptThread(this.worker);
  }

  /** Ends a thread that does not answer. Only what it was doing fails. */
  private fail(failure: EvaluationFailure): void {
    // A thread that cannot even start would be started again forever.
    const job = this.job ?? jobs.shift();
    this.end();
    job?.reject(toError(job.request.source, failure));
    assign();
  }
}
