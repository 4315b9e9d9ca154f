import { parentPort } from 'node:worker_threads';
import type { JSPromiseState, QuickJSHandle, VmCallResult } from 'quickjs-emscripten-core';
import type {
  ProgramCall,
  ProgramDelivery,
  ProgramFailure,
  ProgramInput,
  ProgramLimits,
  ProgramMessage,
  ProgramReport,
} from './program-session.ts';
import { hashOf } from './replay.ts';
import { placeIn, type Thrown, Vm } from './vm.ts';

/** The name of a program in stack traces. */
const FILE = 'program';
/** The maximum length of the arguments of all calls that a program makes at once. */
const MAX_CHARS_AT_ONCE = 64 << 20;
const MAX_LOG_LINES = 1000;

/**
 * What a program can use. It is given functions of the host that take and return only texts and numbers, and that the
 * program never sees.
 */
const HARNESS = `({ toJson }, host) => {
  const { parse } = JSON;
  const { defineProperty } = Object;
  const { imul, min, max } = Math;
  const { isArray } = Array;
  const [PromiseClass, ErrorClass, TypeErrorClass, text] = [Promise, Error, TypeError, String];
  const global = globalThis;
  // Without a prototype, so that a program cannot reach into it.
  const pending = { __proto__: null };

  const define = (name, value) =>
    defineProperty(global, name, { value, writable: true, enumerable: false, configurable: true });
  const refusal = (message) => {
    const error = new TypeErrorClass(message);
    error.code = 'INVALID_CALL';
    return error;
  };

  class ToolError extends ErrorClass {}
  defineProperty(ToolError.prototype, 'name', { value: 'ToolError', writable: true, configurable: true });

  const OPTIONS = { __proto__: null, priority: 'priority', timeout: 'timeout', maxRetries: 'max_retries',
    max_retries: 'max_retries', resources: 'resources' };
  const optionsOf = (name, options) => {
    if (options === undefined || options === null) return undefined;
    if (typeof options !== 'object' || isArray(options)) throw refusal('The options of ' + name + ' must be an object');
    const known = {};
    for (const key in options) {
      if (OPTIONS[key] === undefined) {
        throw refusal('The option "' + key + '" of ' + name + ' is unknown; use priority, timeout, maxRetries or resources');
      }
      if (options[key] !== undefined) known[OPTIONS[key]] = options[key];
    }
    return toJson(known, ${1 << 16});
  };
  const call = (name, params = {}, options = undefined) => {
    let input;
    try {
      input = [toJson(params, ${16 << 20}), optionsOf(name, options)];
    } catch (error) {
      const isRefused = error?.code === 'INVALID_CALL';
      const why = 'The arguments of ' + name + ' cannot be written as JSON: ' + text(error?.message);
      return new PromiseClass((_, reject) => reject(isRefused ? error : refusal(why)));
    }
    const index = host.call(name, input[0], input[1]);
    // A limit is exceeded, and the program is being interrupted.
    if (index < 0) for (;;);
    return new PromiseClass((resolve, reject) => {
      pending[index] = { name, resolve, reject };
    });
  };

  // tools.read_file, tools.files.read and tools['files.read'] are all functions.
  const tool = (path) =>
    new Proxy(() => {}, {
      get(_, key) {
        if (typeof key === 'symbol' || key === 'then' || key === 'toJSON') return undefined;
        return tool(path === undefined ? key : path + '.' + key);
      },
      apply(_, self, args) {
        if (path === undefined) throw refusal('tools is not a function; use tools.name(params)');
        return call(path, args[0], args[1]);
      },
    });

  const parallel = async (list, fn, options = {}) => {
    if (typeof fn !== 'function') throw refusal('parallel(list, fn, { concurrency }) needs a function');
    const items = [...list];
    const concurrency = options?.concurrency ?? items.length;
    if (items.length > 0 && !(concurrency >= 1)) throw refusal('The concurrency of parallel() must be 1 or more');
    const results = [];
    let next = 0;
    let isFailed = false;
    const lane = async () => {
      while (next < items.length && !isFailed) {
        const index = next++;
        try {
          results[index] = await fn(items[index], index);
        } catch (error) {
          isFailed = true;
          throw error;
        }
      }
    };
    const lanes = [];
    for (let count = min(concurrency, items.length); count >= 1; count--) lanes[lanes.length] = lane();
    await PromiseClass.all(lanes);
    return results;
  };

  const show = (value) => {
    if (typeof value === 'string') return value;
    try {
      return toJson(value, 10000) ?? text(value);
    } catch {
      return text(value);
    }
  };
  const log = (...values) => {
    let line = '';
    for (let index = 0; index < values.length; index++) line += (index > 0 ? ' ' : '') + show(values[index]);
    host.log(toJson(line.length > 2000 ? line.slice(0, 2000) + '…' : line, 100000));
  };
  const progress = (share, step) => {
    const part = typeof share === 'number' ? max(0, min(1, share)) : 0;
    host.progress(part, toJson(step === undefined ? '' : text(step).slice(0, 200), 100000));
  };

  define('tools', tool(undefined));
  define('parallel', parallel);
  define('log', log);
  define('progress', progress);
  define('console', { log, info: log, warn: log, error: log, debug: log });

  return {
    prepare(seed, args) {
      define('args', args === undefined ? undefined : parse(args));
      let state = seed;
      const random32 = () => {
        state = (state + 0x9e3779b9) | 0;
        let bits = imul(state ^ (state >>> 16), 0x85ebca6b);
        bits = imul(bits ^ (bits >>> 13), 0xc2b2ae35);
        return (bits ^ (bits >>> 16)) >>> 0;
      };
      Math.random = function random() {
        return ((random32() >>> 5) * 0x4000000 + (random32() >>> 6)) / 0x20000000000000;
      };
    },
    resolve(index, json) {
      const { resolve } = pending[index];
      delete pending[index];
      resolve(json === undefined ? undefined : parse(json));
    },
    reject(index, json) {
      const { name, reject } = pending[index];
      delete pending[index];
      const { message, code, reason, callId } = parse(json);
      const error = new ToolError(message);
      error.code = code;
      error.reason = reason;
      error.function = name;
      error.callId = callId;
      reject(error);
    },
  };
}`;

/** Ends the program. */
class ProgramEnd extends Error {
  constructor(readonly failure: ProgramFailure) {
    super(failure.message);
  }
}

const port = parentPort!;
/** The program's clock. */
let time = 0;
/** There is one program at a time. */
let program: RunningProgram | undefined;

const vm = await Vm.create(() => time);
const { context } = vm;
const host = context.newObject();
expose('call', (name, params, options) =>
  context.newNumber(program!.call(vm.text(name!)!, vm.text(params!), vm.text(options!))),
);
expose('log', (line) => {
  program!.log(vm.text(line!)!);
  return vm.undefined;
});
expose('progress', (share, step) => {
  program!.progress(context.getNumber(share!), vm.text(step!)!);
  return vm.undefined;
});
const harness = vm.load(HARNESS, host);
const prepare = context.getProp(harness, 'prepare');
const resolve = context.getProp(harness, 'resolve');
const reject = context.getProp(harness, 'reject');
vm.takeImage();

port.on('message', (message: ProgramMessage) => {
  if (message.type === 'stop') {
    end();
    return;
  }
  if (message.type === 'start') program = new RunningProgram(message.program);
  // Deliveries may still arrive when the program has ended.
  if (program === undefined) return;
  const report = message.type === 'start' ? program.start() : program.deliver(message.deliveries);
  port.postMessage(report);
  if (report.outcome !== undefined && !report.isSpent) end();
});
port.postMessage('ready');

function expose(name: string, fn: (...args: QuickJSHandle[]) => QuickJSHandle): void {
  context.setProp(host, name, context.newFunction(name, fn));
}

/** The next program finds the VM as new. */
function end(): void {
  program = undefined;
  vm.restore();
}

class RunningProgram {
  private readonly limits: ProgramLimits;
  private readonly inFlight = new Set<number>();
  private made = 0;
  private delivered = 0;
  private usedMs = 0;
  private promise: QuickJSHandle | undefined;
  /** The limit that a call has exceeded. */
  private exceeded: ProgramFailure | undefined;

  // Since the last report:
  private calls: ProgramCall[] = [];
  private chars = 0;
  private logged: string[] = [];
  private lines = 0;
  private reported: ProgramReport['progress'];

  constructor(private readonly input: ProgramInput) {
    this.limits = input.limits;
    time = input.startedAt;
  }

  start(): ProgramReport {
    return this.report(() => {
      const { source, args, seed } = this.input;
      this.invoke(prepare, context.newNumber(seed | 0), this.textOrUndefined(args));
      const compiled = context.evalCode(`(async () => {\n${source}\n})`, FILE);
      if (compiled.error !== undefined) throw new ProgramEnd(syntaxFailure(vm.thrown(compiled.error)));
      if (context.typeof(compiled.value) !== 'function') throw new ProgramEnd(UNBALANCED);
      this.promise = this.unwrap(context.callFunction(compiled.value, vm.undefined));
      compiled.value.dispose();
      this.drain();
    });
  }

  deliver(list: readonly ProgramDelivery[]): ProgramReport {
    return this.report(() => {
      for (const delivery of list) {
        if (!this.inFlight.delete(delivery.index)) throw new ProgramEnd(notMade(delivery.index));
        this.delivered++;
        time = Math.max(time, delivery.at);
        this.settle(delivery);
        this.drain();
        if (this.state().type !== 'pending') return;
      }
    });
  }

  call(name: string, params: string | undefined, options: string | undefined): number {
    const { calls, callsInFlight } = this.limits;
    this.chars += params?.length ?? 0;
    if (this.made >= calls) {
      this.exceed({ code: 'PROGRAM_CALLS', message: `makes more than ${calls} calls` });
    } else if (this.inFlight.size >= callsInFlight) {
      const message = `has more than ${callsInFlight} calls in flight; use parallel(list, fn, { concurrency })`;
      this.exceed({ code: 'PROGRAM_CALLS_IN_FLIGHT', message });
    } else if (this.chars > MAX_CHARS_AT_ONCE) {
      this.exceed({ code: 'PROGRAM_MEMORY', message: 'makes calls with too large arguments at once' });
    }
    if (this.exceeded !== undefined) return -1;
    const index = this.made++;
    this.inFlight.add(index);
    const text = params ?? 'null';
    this.calls.push({
      index,
      function: name,
      params: text,
      options,
      hash: hashOf(text, options),
      after: this.delivered,
    });
    return index;
  }

  log(line: string): void {
    if (++this.lines < MAX_LOG_LINES) this.logged.push(JSON.parse(line));
    else if (this.lines === MAX_LOG_LINES) this.logged.push('… (further lines are left out)');
  }

  progress(share: number, step: string): void {
    this.reported = { share, step: JSON.parse(step) };
  }

  /** Runs a part of the program, and reports what it did. */
  private report(part: () => void): ProgramReport {
    const from = performance.now();
    let outcome: ProgramReport['outcome'];
    let isSpent = false;
    try {
      const leftMs = this.limits.cpuMs - this.usedMs;
      if (leftMs <= 0) throw new ProgramEnd(this.outOfTime());
      vm.limit(leftMs, this.limits.memoryMb);
      part();
      outcome = this.outcome();
    } catch (error) {
      if (error instanceof ProgramEnd) outcome = { failure: error.failure };
      else {
        // QuickJS itself failed, because it ran out of something. It may be in any state.
        outcome = { failure: error instanceof RangeError ? TOO_DEEP : this.outOfMemory() };
        isSpent = true;
      }
    }
    this.usedMs += performance.now() - from;
    const { delivered, calls, logged: log, reported: progress, usedMs } = this;
    [this.calls, this.logged, this.reported, this.chars] = [[], [], undefined, 0];
    return { delivered, calls, log, progress, outcome, usedMs, isSpent: isSpent || vm.isSpent };
  }

  /** How it ended; undefined if it waits for calls. */
  private outcome(): ProgramReport['outcome'] {
    const state = this.state();
    switch (state.type) {
      case 'pending':
        return this.inFlight.size > 0 ? undefined : { failure: STUCK };
      case 'rejected':
        return { failure: this.failureOf(vm.thrown(state.error)) };
      case 'fulfilled': {
        const json = vm.toJson(state.value, this.limits.valueChars);
        return 'thrown' in json ? { failure: this.failureOf(json.thrown) } : { value: json.text };
      }
    }
  }

  private state(): JSPromiseState {
    return context.getPromiseState(this.promise!);
  }

  private settle({ index, value, error }: ProgramDelivery): void {
    const failure = error ?? this.tooLarge(value);
    const settled = failure === undefined ? value : JSON.stringify(failure);
    this.invoke(
      failure === undefined ? resolve : reject,
      context.newNumber(index),
      this.textOrUndefined(settled),
    );
  }

  /** A text is in the VM more than once while it is parsed. */
  private tooLarge(value: string | undefined): ProgramDelivery['error'] {
    if (value === undefined || value.length <= this.limits.memoryMb * 2 ** 18) return undefined;
    const message = `The result has ${value.length >> 20} MB, too much for a program with ${this.limits.memoryMb} MB of memory`;
    return { message, code: 'RESULT_TOO_LARGE' };
  }

  private drain(): void {
    this.requireLimits(vm.drain());
  }

  private requireLimits(thrown?: Thrown): void {
    if (this.exceeded !== undefined) throw new ProgramEnd(this.exceeded);
    if (vm.isInterrupted) throw new ProgramEnd(this.outOfTime());
    if (thrown?.kind === 'memory') throw new ProgramEnd(this.outOfMemory());
  }

  private exceed(failure: ProgramFailure): void {
    this.exceeded ??= failure;
    vm.interrupt();
  }

  /** Calls a function of ours, which fails only if a limit is exceeded. */
  private invoke(fn: QuickJSHandle, ...args: QuickJSHandle[]): void {
    this.unwrap(context.callFunction(fn, vm.undefined, args)).dispose();
    for (const arg of args) if (arg !== vm.undefined) arg.dispose();
  }

  private unwrap(result: VmCallResult<QuickJSHandle>): QuickJSHandle {
    if ('value' in result) return result.value;
    throw new ProgramEnd(this.failureOf(vm.thrown(result.error)));
  }

  private textOrUndefined(text: string | undefined): QuickJSHandle {
    return text === undefined ? vm.undefined : context.newString(text);
  }

  private failureOf(thrown: Thrown): ProgramFailure {
    this.requireLimits(thrown);
    const { kind, message, stack, code, callId } = thrown;
    switch (kind) {
      case 'depth':
        return TOO_DEEP;
      case 'size': {
        const limit = this.limits.valueChars >> 20;
        return { code: 'RESULT_TOO_LARGE', message: `returns more than ${limit} MB` };
      }
      case 'json':
        return { code: 'UNSERIALISABLE_RESULT', message: `returns a value that is not JSON: ${message}` };
      default: {
        const place = placeIn(stack, FILE);
        const where = callId !== undefined ? ` (call ${callId})` : place ? ` (line ${place.line})` : '';
        return {
          code: 'PROGRAM_FAILED',
          message: `failed: ${textOf(thrown)}${where}`,
          details: { ...(code !== undefined && { code }), ...(callId !== undefined && { callId }), ...place },
        };
      }
    }
  }

  private outOfTime(): ProgramFailure {
    return { code: 'PROGRAM_CPU_TIME', message: `computes for more than ${this.limits.cpuMs} ms` };
  }

  private outOfMemory(): ProgramFailure {
    return { code: 'PROGRAM_MEMORY', message: `needs more than ${this.limits.memoryMb} MB of memory` };
  }
}

const TOO_DEEP: ProgramFailure = {
  code: 'PROGRAM_TOO_DEEP',
  message: 'nests calls or values too deeply',
};
const STUCK: ProgramFailure = {
  code: 'PROGRAM_STUCK',
  message: 'waits for a promise that nothing can settle: it has no calls in flight',
};
const UNBALANCED: ProgramFailure = { code: 'INVALID_PROGRAM', message: 'has braces that do not match' };

function syntaxFailure(thrown: Thrown): ProgramFailure {
  const place = placeIn(thrown.stack, FILE);
  const where = place === undefined ? '' : ` (line ${place.line}, column ${place.column})`;
  return {
    code: 'INVALID_PROGRAM',
    message: `is not valid: ${textOf(thrown)}${where}`,
    details: { ...place },
  };
}

function notMade(index: number): ProgramFailure {
  const message = `behaves differently than before it was interrupted: it has not made call ${index}`;
  return { code: 'PROGRAM_DIVERGED', message, details: { index } };
}

function textOf({ name, message }: Thrown): string {
  return name === undefined ? message : `${name}: ${message}`;
}
