import {
  newQuickJSWASMModuleFromVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
} from 'quickjs-emscripten-core';

/** The stack of a script, about 6,500 calls. It takes far more of the thread's own, see `script-thread.ts`. */
const STACK_BYTES = 1 << 20;

/** Grows, but never shrinks; its buffer is another one then. */
export interface VmMemory {
  readonly buffer: ArrayBuffer;
}

/** A QuickJS of its own: nothing in it can reach the host but the clock. Only for threads that do nothing else. */
export interface Vm {
  readonly runtime: QuickJSRuntime;
  readonly context: QuickJSContext;
  readonly memory: VmMemory;
}

/**
 * What a script may not have: clocks, and what shows when memory is collected. The value of a script becomes JSON, so
 * what JSON would silently lose is an error instead. An error becomes its name and message.
 */
const HARDEN = `'use strict';
for (const name of ['performance', 'WeakRef', 'FinalizationRegistry', 'SharedArrayBuffer', 'Atomics']) {
  delete globalThis[name];
}
const refuse = (prototype, what) => {
  const value = function toJSON() { throw new TypeError(what + ' cannot be written as JSON'); };
  Object.defineProperty(prototype, 'toJSON', { value, writable: true, configurable: true });
};
refuse(Function.prototype, 'a function');
refuse(BigInt.prototype, 'a BigInt');
refuse(Promise.prototype, 'a promise (await it)');
refuse(Map.prototype, 'a Map (use Object.fromEntries(map))');
refuse(Set.prototype, 'a Set (use [...set])');
const errorToJSON = function toJSON() {
  const { name, message, code } = this;
  return { name, message, code };
};
Object.defineProperty(Error.prototype, 'toJSON', { value: errorToJSON, writable: true, configurable: true });
`;

/** Creates a VM whose clock is `now` and whose time zone is UTC. `shouldStop` is asked often while a script runs. */
export async function createVm(now: () => number, shouldStop: () => boolean): Promise<Vm> {
  replaceClock(now);
  const module = await newQuickJSWASMModuleFromVariant(import('@jitl/quickjs-ng-wasmfile-release-sync'));
  const runtime = module.newRuntime();
  runtime.setMaxStackSize(STACK_BYTES);
  runtime.setInterruptHandler(shouldStop);
  const context = runtime.newContext();
  run(context, `(() => {${HARDEN}})()`).dispose();
  return { runtime, context, memory: module.getWasmMemory() };
}

/** Runs code of ours. */
export function run(context: QuickJSContext, code: string): QuickJSHandle {
  return context.unwrapResult(context.evalCode(code, 'volley'));
}

const UNITS = ['FullYear', 'Month', 'Date', 'Day', 'Hours', 'Minutes', 'Seconds', 'Milliseconds'] as const;

/** QuickJS takes the time and the time zone from the `Date` of its thread. */
function replaceClock(now: () => number): void {
  const { prototype } = Date;
  for (const unit of UNITS) prototype[`get${unit}`] = prototype[`getUTC${unit}`];
  prototype.getTimezoneOffset = () => 0;
  Date.now = now;
}
