import { parentPort } from 'node:worker_threads';
import type { QuickJSHandle } from 'quickjs-emscripten-core';
import type { Evaluated, EvaluationAnswer, EvaluationFailure, EvaluationRequest } from './evaluate.ts';
import { MemoryImage } from './memory-image.ts';
import { createVm, run } from './vm.ts';

/** The name of an expression in stack traces. */
const FILE = 'expression';
const TOO_DEEP: EvaluationFailure = {
  code: 'EXPRESSION_TOO_DEEP',
  message: 'calls functions, or nests values, too deeply',
};
/** A thread whose memory has grown beyond this is replaced: it never shrinks. */
const MAX_KEPT_BYTES = 64 << 20;

/** Functions of ours inside the VM. They use only what they took before the expression could change it. */
const HARNESS = `(() => {
  'use strict';
  const { parse, stringify } = JSON;
  const { defineProperty } = Object;
  const text = String;
  const global = globalThis;
  const [PromiseClass, RangeErrorClass, InternalErrorClass] = [Promise, RangeError, InternalError];
  class NotJson extends TypeError {}
  Math.random = function random() {
    throw new Error('Math.random() is not available, because an expression must give the same value every time');
  };
  const define = (target, name, value) =>
    defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
  const toJson = (value) => {
    if (typeof value === 'symbol') throw new NotJson('a symbol cannot be written as JSON');
    try {
      return stringify(value);
    } catch (error) {
      if (error instanceof RangeErrorClass || error instanceof InternalErrorClass) throw error;
      throw new NotJson(text(error?.message));
    }
  };
  return {
    setResults(pairs, names) {
      const results = {};
      for (const [id, value] of parse(pairs)) define(results, id, value);
      for (const name of parse(names)) define(global, name, results[name]);
      define(global, 'results', results);
    },
    // One call does all, because a call from outside takes longer than most expressions.
    evaluate(compute, pairs) {
      for (const [name, value] of parse(pairs)) define(global, name, value);
      const value = compute();
      return value instanceof PromiseClass ? value : toJson(value);
    },
    toJson,
    describe(thrown) {
      if (typeof thrown !== 'object' || thrown === null) return stringify({ message: text(thrown) });
      const { name, message, stack } = thrown;
      const isNotJson = thrown instanceof NotJson;
      return stringify({ name: text(name), message: text(message), stack: text(stack), isNotJson });
    },
  };
})()`;

/** Ends the whole request, not only one of its evaluations. */
class RequestFailure extends Error {
  constructor(readonly failure: EvaluationFailure) {
    super(failure.message);
  }
}

const port = parentPort!;
let deadline = Number.POSITIVE_INFINITY;
let isClockRead = false;
let isInterrupted = false;

const { runtime, context, memory } = await createVm(
  () => {
    isClockRead = true;
    return 0;
  },
  () => {
    isInterrupted ||= performance.now() > deadline;
    return isInterrupted;
  },
);
const harness = run(context, HARNESS);
const setResults = context.getProp(harness, 'setResults');
const evaluateItem = context.getProp(harness, 'evaluate');
const toJson = context.getProp(harness, 'toJson');
const describe = context.getProp(harness, 'describe');
const none = context.undefined;
const image = new MemoryImage(memory);

port.on('message', (request: EvaluationRequest) => {
  const answer = answerTo(request);
  port.postMessage(answer);
  // The next request finds the VM as new, whatever this one did.
  if (!answer.isSpent) image.restore();
});
port.postMessage('ready');

function answerTo(request: EvaluationRequest): EvaluationAnswer {
  try {
    const evaluated = evaluateAll(request);
    return { evaluated, isSpent: memory.buffer.byteLength > MAX_KEPT_BYTES };
  } catch (error) {
    // If it was not a script that failed but QuickJS itself, the VM may be in any state.
    return { failure: failureOf(error, request), isSpent: !(error instanceof RequestFailure) };
  }
}

function evaluateAll(request: EvaluationRequest): readonly Evaluated[] {
  deadline = performance.now() + request.limitMs;
  isInterrupted = false;
  runtime.setMemoryLimit(request.memoryMb * 2 ** 20);
  const compute = compile(request);
  const results = context.newString(request.results);
  const names = context.newString(request.names);
  return request.items.map((item, index) => {
    // Each item gets its own results, because an expression may change them.
    if (index === 0 || request.results !== '[]') {
      const set = context.callFunction(setResults, none, results, names);
      if (set.error !== undefined) throw new RequestFailure(thrownBy(set.error, request));
    }
    isClockRead = false;
    const evaluated = evaluate(compute, item, request);
    if (!isClockRead || 'error' in evaluated) return evaluated;
    const message = 'reads the current time, but an expression must give the same value every time';
    return { error: { code: 'EXPRESSION_FAILED', message } };
  });
}

function compile(request: EvaluationRequest): QuickJSHandle {
  const compiled = context.evalCode(`(() => (\n${request.source}\n))`, FILE, { strict: true });
  if (compiled.error !== undefined) {
    const failure = thrownBy(compiled.error, request);
    throw new RequestFailure({ ...failure, code: 'INVALID_EXPRESSION' });
  }
  if (context.typeof(compiled.value) === 'function') return compiled.value;
  throw new RequestFailure({ code: 'INVALID_EXPRESSION', message: 'has parentheses that do not match' });
}

function evaluate(compute: QuickJSHandle, item: string, request: EvaluationRequest): Evaluated {
  const result = context.callFunction(evaluateItem, none, compute, context.newString(item));
  if (result.error !== undefined) return { error: thrownBy(result.error, request) };
  if (context.typeof(result.value) !== 'object') return { value: textOf(result.value) };

  // It is a promise. After everything that can run has run, it is settled, or never will be.
  const jobs = runtime.executePendingJobs();
  if (jobs.error !== undefined) return { error: thrownBy(jobs.error, request) };
  const state = context.getPromiseState(result.value);
  switch (state.type) {
    case 'pending':
      return { error: { code: 'EXPRESSION_PENDING', message: 'returns a promise that nothing settles' } };
    case 'rejected':
      return { error: thrownBy(state.error, request) };
    case 'fulfilled': {
      const json = context.callFunction(toJson, none, state.value);
      return json.error === undefined
        ? { value: textOf(json.value) }
        : { error: thrownBy(json.error, request) };
    }
  }
}

function textOf(value: QuickJSHandle): string | undefined {
  return context.typeof(value) === 'string' ? context.getString(value) : undefined;
}

interface Thrown {
  readonly name?: string;
  readonly message: string;
  readonly stack?: string;
  readonly isNotJson?: boolean;
}

/** What a script threw. Throws itself if a limit was the reason. */
function thrownBy(error: QuickJSHandle, request: EvaluationRequest): EvaluationFailure {
  const described = isInterrupted ? undefined : context.callFunction(describe, none, error);
  if (isInterrupted) {
    const message = `took longer than ${request.limitMs} ms`;
    throw new RequestFailure({ code: 'EXPRESSION_TIMEOUT', message });
  }
  const thrown: Thrown =
    described?.error === undefined
      ? JSON.parse(context.getString(described!.value))
      : { message: 'an error that cannot be read' };
  const { name, message, stack, isNotJson } = thrown;
  // QuickJS throws null if there is not even room for an error.
  const isNull = name === undefined && message === 'null';
  const isFull = memory.buffer.byteLength > request.memoryMb * 2 ** 19;
  if ((name === 'InternalError' && message === 'out of memory') || (isNull && isFull)) {
    throw new RequestFailure(outOfMemory(request));
  }
  if (name === 'RangeError' && message === 'Maximum call stack size exceeded') return TOO_DEEP;
  if (isNotJson) {
    return {
      code: 'UNSERIALISABLE_RESULT',
      message: `has a value that is not JSON: ${message.slice(0, 1000)}`,
    };
  }
  const text = name === undefined ? message : `${name}: ${message}`;
  return { code: 'EXPRESSION_FAILED', message: `failed: ${text.slice(0, 1000)}`, ...placeIn(stack) };
}

/** The place in the expression, which starts on the second line of what is compiled. */
function placeIn(stack: string | undefined): { line: number; column: number } | undefined {
  const [, line, column] = stack?.match(/\bexpression:(\d+):(\d+)/) ?? [];
  return Number(line) > 1 ? { line: Number(line) - 1, column: Number(column) } : undefined;
}

/** Anything but a {@link RequestFailure} comes from QuickJS itself, which ran out of something. */
function failureOf(error: unknown, request: EvaluationRequest): EvaluationFailure {
  if (error instanceof RequestFailure) return error.failure;
  return error instanceof RangeError ? TOO_DEEP : outOfMemory(request);
}

function outOfMemory({ memoryMb }: EvaluationRequest): EvaluationFailure {
  return { code: 'EXPRESSION_MEMORY', message: `needs more than ${memoryMb} MB of memory` };
}
