import { parentPort } from 'node:worker_threads';
import type { QuickJSHandle } from 'quickjs-emscripten-core';
import type { Evaluated, EvaluationAnswer, EvaluationFailure, EvaluationRequest } from './evaluate.ts';
import { placeIn, type Thrown, Vm } from './vm.ts';

/** The name of an expression in stack traces. */
const FILE = 'expression';

const HARNESS = `({ toJson }) => {
  const { parse } = JSON;
  const { defineProperty } = Object;
  const global = globalThis;
  const PromiseClass = Promise;
  const define = (target, name, value) =>
    defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
  Math.random = function random() {
    throw new Error('Math.random() is not available, because an expression must give the same value every time');
  };
  return {
    setResults(pairs, names) {
      const results = {};
      for (const [id, value] of parse(pairs)) define(results, id, value);
      for (const name of parse(names)) define(global, name, results[name]);
      define(global, 'results', results);
    },
    // One call does all, because a call from outside takes longer than most expressions.
    evaluate(compute, pairs, maxChars) {
      for (const [name, value] of parse(pairs)) define(global, name, value);
      const value = compute();
      return value instanceof PromiseClass ? value : toJson(value, maxChars);
    },
  };
}`;

/** Ends the whole request, not only one of its evaluations. */
class RequestFailure extends Error {
  constructor(readonly failure: EvaluationFailure) {
    super(failure.message);
  }
}

const port = parentPort!;
const INTERRUPTED: Thrown = { message: 'interrupted' };
let isClockRead = false;
const vm = await Vm.create(() => {
  isClockRead = true;
  return 0;
});
const { context } = vm;
const harness = vm.load(HARNESS);
const setResults = context.getProp(harness, 'setResults');
const evaluateItem = context.getProp(harness, 'evaluate');
vm.takeImage();

port.on('message', (request: EvaluationRequest) => {
  const answer = answerTo(request);
  port.postMessage(answer);
  // The next request finds the VM as new, whatever this one did.
  if (!answer.isSpent) vm.restore();
});
port.postMessage('ready');

function answerTo(request: EvaluationRequest): EvaluationAnswer {
  try {
    return { evaluated: evaluateAll(request), isSpent: vm.isSpent };
  } catch (error) {
    if (error instanceof RequestFailure) return { failure: error.failure, isSpent: vm.isSpent };
    // QuickJS itself failed, because it ran out of something. It may be in any state.
    const failure = error instanceof RangeError ? TOO_DEEP : outOfMemory(request);
    return { failure, isSpent: true };
  }
}

function evaluateAll(request: EvaluationRequest): readonly Evaluated[] {
  vm.limit(request.limitMs, request.memoryMb);
  const compute = compile(request);
  const results = context.newString(request.results);
  const names = context.newString(request.names);
  let chars = 0;
  return request.items.map((item, index) => {
    // Each item gets its own results, because an expression may change them.
    if (index === 0 || request.results !== '[]') {
      const set = context.callFunction(setResults, vm.undefined, results, names);
      if (set.error !== undefined) throw new RequestFailure(failureOf(vm.thrown(set.error), request));
    }
    isClockRead = false;
    const evaluated = evaluate(compute, item, request);
    if ('error' in evaluated) return evaluated;
    chars += evaluated.value?.length ?? 0;
    if (chars > request.maxChars) throw new RequestFailure(tooLarge(request));
    if (!isClockRead) return evaluated;
    const message = 'reads the current time, but an expression must give the same value every time';
    return { error: { code: 'EXPRESSION_FAILED', message } };
  });
}

function compile(request: EvaluationRequest): QuickJSHandle {
  const compiled = context.evalCode(`(() => (\n${request.source}\n))`, FILE, { strict: true });
  if (compiled.error !== undefined) {
    const failure = failureOf(vm.thrown(compiled.error), request);
    throw new RequestFailure({ ...failure, code: 'INVALID_EXPRESSION' });
  }
  if (context.typeof(compiled.value) === 'function') return compiled.value;
  throw new RequestFailure({ code: 'INVALID_EXPRESSION', message: 'has parentheses that do not match' });
}

function evaluate(compute: QuickJSHandle, item: string, request: EvaluationRequest): Evaluated {
  const fail = (thrown: Thrown) => ({ error: failureOf(thrown, request) });
  const args = [compute, context.newString(item), context.newNumber(request.maxChars)];
  const result = context.callFunction(evaluateItem, vm.undefined, args);
  if (result.error !== undefined) return fail(vm.thrown(result.error));
  if (context.typeof(result.value) !== 'object') return { value: vm.text(result.value) };

  // It is a promise. After everything that can run has run, it is settled, or never will be.
  const thrown = vm.drain();
  if (thrown !== undefined || vm.isInterrupted) return fail(thrown ?? INTERRUPTED);
  const state = context.getPromiseState(result.value);
  switch (state.type) {
    case 'pending':
      return { error: { code: 'EXPRESSION_PENDING', message: 'returns a promise that nothing settles' } };
    case 'rejected':
      return fail(vm.thrown(state.error));
    case 'fulfilled': {
      const json = vm.toJson(state.value, request.maxChars);
      return 'thrown' in json ? fail(json.thrown) : { value: json.text };
    }
  }
}

/** Why an expression has no value. Throws if it was a limit of the request. */
function failureOf(thrown: Thrown, request: EvaluationRequest): EvaluationFailure {
  if (vm.isInterrupted) {
    const message = `took longer than ${request.limitMs} ms`;
    throw new RequestFailure({ code: 'EXPRESSION_TIMEOUT', message });
  }
  const { kind, name, message, stack } = thrown;
  switch (kind) {
    case 'memory':
      throw new RequestFailure(outOfMemory(request));
    case 'depth':
      return TOO_DEEP;
    case 'size':
      return tooLarge(request);
    case 'json':
      return { code: 'UNSERIALISABLE_RESULT', message: `has a value that is not JSON: ${message}` };
    default: {
      const text = name === undefined ? message : `${name}: ${message}`;
      return { code: 'EXPRESSION_FAILED', message: `failed: ${text}`, ...placeIn(stack, FILE) };
    }
  }
}

const TOO_DEEP: EvaluationFailure = {
  code: 'EXPRESSION_TOO_DEEP',
  message: 'nests calls or values too deeply',
};

function outOfMemory({ memoryMb }: EvaluationRequest): EvaluationFailure {
  return { code: 'EXPRESSION_MEMORY', message: `needs more than ${memoryMb} MB of memory` };
}

function tooLarge({ maxChars }: EvaluationRequest): EvaluationFailure {
  return { code: 'RESULT_TOO_LARGE', message: `has a value of more than ${maxChars >> 20} MB` };
}
