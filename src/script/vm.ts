import {
  newQuickJSWASMModuleFromVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
} from 'quickjs-emscripten-core';
import { MemoryImage, type VmMemory } from './memory-image.ts';

/** The stack of a script, about 6,500 calls. It takes far more of the thread's own, see `script-thread.ts`. */
const STACK_BYTES = 1 << 20;
/** A VM whose memory has grown beyond this is not used again: the memory never shrinks. */
const MAX_KEPT_BYTES = 64 << 20;

/** An interruption becomes the rejection of a promise. So it has to be looked for between jobs, too. */
const JOBS_AT_ONCE = 100;
const STRICT = { strict: true };

/**
 * Runs first in every VM. Removes what a script may not have: clocks, and what shows when memory is collected. What JSON
 * would silently lose is an error instead; an error becomes its name, message and code. Returns functions of ours,
 * which use only what they took before a script could change it.
 */
const HARDEN = `(() => {
  for (const name of ['performance', 'WeakRef', 'FinalizationRegistry', 'SharedArrayBuffer', 'Atomics']) {
    delete globalThis[name];
  }
  const { parse, stringify } = JSON;
  const { defineProperty } = Object;
  const text = String;
  const [RangeErrorClass, InternalErrorClass] = [RangeError, InternalError];
  class NotJson extends TypeError {}
  class TooLarge extends RangeError {}

  const method = (target, value) => defineProperty(target, 'toJSON', { value, writable: true, configurable: true });
  const refuse = (prototype, what) =>
    method(prototype, function toJSON() { throw new NotJson(what + ' cannot be written as JSON'); });
  refuse(Function.prototype, 'a function');
  refuse(BigInt.prototype, 'a BigInt');
  refuse(Promise.prototype, 'a promise (await it)');
  refuse(Map.prototype, 'a Map (use Object.fromEntries(map))');
  refuse(Set.prototype, 'a Set (use [...set])');
  method(Error.prototype, function toJSON() {
    const { name, message, code } = this;
    return { name, message, code };
  });

  const slice = Function.prototype.call.bind(String.prototype.slice);
  const short = (value) => (value === undefined ? undefined : slice(text(value), 0, 2000));
  return {
    toJson(value, maxChars) {
      let json;
      try {
        if (typeof value === 'symbol') throw new NotJson('a symbol cannot be written as JSON');
        json = stringify(value);
      } catch (error) {
        if (error instanceof RangeErrorClass || error instanceof InternalErrorClass) throw error;
        throw new NotJson(text(error?.message));
      }
      if (json !== undefined && json.length > maxChars) throw new TooLarge('more than ' + maxChars + ' characters');
      return json;
    },
    describe(thrown) {
      if ((typeof thrown !== 'object' && typeof thrown !== 'function') || thrown === null) {
        return stringify({ message: short(text(thrown)) });
      }
      const kind = thrown instanceof NotJson ? 'json' : thrown instanceof TooLarge ? 'size' : undefined;
      const { name, message, stack, code, callId } = thrown;
      return stringify({
        kind, name: short(name), message: short(message) ?? '', stack: short(stack), code: short(code), callId: short(callId),
      });
    },
  };
})()`;

/** What a script threw, with all texts cut short. */
export interface Thrown {
  /** Which limit was exceeded: memory, depth of calls, or the size of a value; or a value is not JSON. */
  readonly kind?: 'memory' | 'depth' | 'size' | 'json';
  /** Only of an object. */
  readonly name?: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string;
  readonly callId?: string;
}

/**
 * A QuickJS of its own: nothing in it can reach the host but the clock. Only for threads that do nothing else.
 */
export class Vm {
  readonly undefined: QuickJSHandle;
  private readonly tools: QuickJSHandle;
  private readonly describe: QuickJSHandle;
  private readonly stringify: QuickJSHandle;
  private image: MemoryImage | undefined;
  private deadline = Number.POSITIVE_INFINITY;
  private memoryBytes = Number.POSITIVE_INFINITY;
  /** Whether the script was stopped: by its time limit, or by {@link interrupt}. */
  isInterrupted = false;

  private constructor(
    readonly runtime: QuickJSRuntime,
    readonly context: QuickJSContext,
    private readonly memory: VmMemory,
  ) {
    this.undefined = context.undefined;
    runtime.setInterruptHandler(() => {
      this.isInterrupted ||= performance.now() > this.deadline;
      return this.isInterrupted;
    });
    this.tools = context.unwrapResult(context.evalCode(HARDEN, 'volley', STRICT));
    this.describe = context.getProp(this.tools, 'describe');
    this.stringify = context.getProp(this.tools, 'toJson');
  }

  /** Creates a VM whose clock is `now` and whose time zone is UTC. */
  static async create(now: () => number): Promise<Vm> {
    replaceClock(now);
    const module = await newQuickJSWASMModuleFromVariant(import('@jitl/quickjs-ng-wasmfile-release-sync'));
    const runtime = module.newRuntime();
    runtime.setMaxStackSize(STACK_BYTES);
    return new Vm(runtime, runtime.newContext(), module.getWasmMemory());
  }

  /** Loads code of ours: a function of the tools in {@link HARDEN} and of `host`. Returns its result. */
  load(code: string, host: QuickJSHandle = this.undefined): QuickJSHandle {
    const { context } = this;
    const load = context.unwrapResult(context.evalCode(code, 'volley', STRICT));
    return context.unwrapResult(context.callFunction(load, this.undefined, this.tools, host));
  }

  /** Remembers the present state for {@link restore}. */
  takeImage(): void {
    this.image = new MemoryImage(this.memory);
  }

  /** Undoes everything since {@link takeImage}. Handles created since then are gone. */
  restore(): void {
    this.image!.restore();
    this.isInterrupted = false;
  }

  /** Whether it needs so much memory that it is better replaced than restored. */
  get isSpent(): boolean {
    return this.memory.buffer.byteLength > MAX_KEPT_BYTES;
  }

  limit(timeMs: number, memoryMb: number): void {
    this.deadline = performance.now() + timeMs;
    this.memoryBytes = memoryMb * 2 ** 20;
    this.runtime.setMemoryLimit(this.memoryBytes);
  }

  /** Stops the script, which cannot catch that. */
  interrupt(): void {
    this.isInterrupted = true;
  }

  /**
   * Runs what promises and microtasks have left to run, until there is nothing more, or the script is interrupted. An
   * error of a microtask concerns nobody, unless memory is the reason: then it is returned.
   */
  drain(): Thrown | undefined {
    while (this.runtime.hasPendingJob() && !this.isInterrupted) {
      const jobs = this.runtime.executePendingJobs(JOBS_AT_ONCE);
      const thrown = jobs.error && this.thrown(jobs.error);
      if (thrown?.kind === 'memory') return thrown;
    }
    return undefined;
  }

  /** A value as JSON text of at most `maxChars` characters. */
  toJson(value: QuickJSHandle, maxChars: number): { text: string | undefined } | { thrown: Thrown } {
    const { context } = this;
    const json = context.callFunction(this.stringify, this.undefined, value, context.newNumber(maxChars));
    if (json.error !== undefined) return { thrown: this.thrown(json.error) };
    return json.value.consume((handle) => ({ text: this.text(handle) }));
  }

  /** A string; undefined for anything else. */
  text(value: QuickJSHandle): string | undefined {
    return this.context.typeof(value) === 'string' ? this.context.getString(value) : undefined;
  }

  thrown(error: QuickJSHandle): Thrown {
    const described = this.context.callFunction(this.describe, this.undefined, error);
    error.dispose();
    if (described.error !== undefined) {
      described.error.dispose();
      return { message: 'an error that cannot be read' };
    }
    const text = described.value.consume((handle) => this.context.getString(handle));
    const thrown: Thrown = JSON.parse(text);
    const { name, message } = thrown;
    // QuickJS throws null if there is not even room for an error.
    const isNull = name === undefined && message === 'null';
    const isFull = this.memory.buffer.byteLength > this.memoryBytes / 2;
    if ((name === 'InternalError' && message === 'out of memory') || (isNull && isFull)) {
      return { ...thrown, kind: 'memory' };
    }
    if (name === 'RangeError' && message === 'Maximum call stack size exceeded') {
      return { ...thrown, kind: 'depth' };
    }
    return thrown;
  }
}

/** The first place in a file that a stack mentions. Our wrappers put the source on the second line. */
export function placeIn(
  stack: string | undefined,
  file: string,
): { readonly line: number; readonly column: number } | undefined {
  for (const [, line, column] of stack?.matchAll(new RegExp(`\\b${file}:(\\d+):(\\d+)`, 'g')) ?? []) {
    if (Number(line) > 1) return { line: Number(line) - 1, column: Number(column) };
  }
  return undefined;
}

const UNITS = ['FullYear', 'Month', 'Date', 'Day', 'Hours', 'Minutes', 'Seconds', 'Milliseconds'] as const;

/** QuickJS takes the time and the time zone from the `Date` of its thread. */
function replaceClock(now: () => number): void {
  const { prototype } = Date;
  for (const unit of UNITS) prototype[`get${unit}`] = prototype[`getUTC${unit}`];
  prototype.getTimezoneOffset = () => 0;
  Date.now = now;
}
