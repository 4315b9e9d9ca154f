import { workerData } from 'node:worker_threads';
import { loadCode, type PortableCode } from '../load-code.ts';
import type { ToolRun } from '../runner.ts';
import { fromWireError, toWireError, type WireError } from '../wire-error.ts';
import { Claims } from './claims.ts';
import {
  type CallMessage,
  ERROR,
  type HostMessage,
  LOOK,
  READY,
  type ThreadData,
  type ThreadMessage,
  VALUE,
} from './protocol.ts';
import { SimpleAnswers } from './simple-answers.ts';
import { WorkerContext } from './worker-context.ts';
import { limitOutput } from './worker-output.ts';
import { checkResultSize, unsendableResult } from './worker-result.ts';

// The first script of a worker thread.

type Answer = Extract<ThreadMessage, readonly [typeof VALUE | typeof ERROR, ...unknown[]]>;

interface LoadedTool {
  readonly name: string;
  readonly code: PortableCode;
  run: ToolRun | undefined;
}

const { port, ...shared } = workerData as ThreadData;
const claims = new Claims(shared.claims);
const answers = new SimpleAnswers(shared.answers);
const tools = new Map<number, LoadedTool>();
const waiting: CallMessage[] = [];
const output = limitOutput();
let current: WorkerContext | undefined;
let isBusy = false;

const post = (message: ThreadMessage) => port.postMessage(message);

port.on('message', (message: HostMessage) => {
  if (message.kind === 'abort') {
    if (current?.slot === message.slot) current.abort(fromWireError(message.reason));
    return;
  }
  if (message.forget) tools.clear();
  for (const [tool, name, code] of message.tools) tools.set(tool, { name, code, run: undefined });
  for (const call of message.calls) waiting.push(call);
  if (!isBusy) void workOff();
});
post([READY]);

/** One call after the other. It never rejects. */
async function workOff(): Promise<void> {
  isBusy = true;
  for (let call = waiting.shift(); call !== undefined; call = waiting.shift()) {
    if (claims.claim(call[0])) await perform(call);
  }
  isBusy = false;
}

async function perform([slot, toolNumber, id, attempt, resultBytes, input]: CallMessage): Promise<void> {
  const tool = tools.get(toolNumber)!;
  const context = new WorkerContext(slot, id, attempt, post);
  current = context;
  output.begin(tool.name);
  let startedAt = performance.now();
  let answer: Answer;
  try {
    if (tool.run === undefined) {
      tool.run = await loadCode(tool.code, tool.name);
      context.throwIfAborted();
      startedAt = performance.now();
    }
    const value = await tool.run(input, context);
    if (resultBytes >= 0) checkResultSize(value, resultBytes, tool.name);
    answer = [VALUE, slot, performance.now() - startedAt, value];
  } catch (error) {
    answer = [ERROR, slot, performance.now() - startedAt, toWireError(error)];
  }
  current = undefined;
  context.end();
  if (answer[0] === VALUE && !context.hasReported && answers.write(slot, answer[3], answer[2])) {
    if (claims.answer(slot)) post([LOOK]);
    return;
  }
  try {
    post(answer);
  } catch (error) {
    const failure: WireError = toWireError(unsendableResult(tool.name, error));
    post([ERROR, slot, answer[2], failure]);
  }
}
