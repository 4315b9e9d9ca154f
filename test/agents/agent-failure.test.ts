import { expect, test } from 'vitest';
import { ADAPTER_NAMES, adapterFor, wholeOutputReader } from '../../src/agents/adapters.ts';
import { agentFailure } from '../../src/agents/agent-failure.ts';
import type { AgentLog } from '../../src/agents/agent-process.ts';
import { agentOf } from '../../src/agents/find-agent.ts';

const LIMIT = 'Claude AI usage limit reached, try again in 6 days';
const settings = { agents: { own: { command: ['own'], env: {} } } } as never;
const chosen = (name: string) => agentOf(name, settings)!;
const nothing: AgentLog = { usage: {}, lastText: undefined, result: undefined };
const failed = (errors = '') => ({ exitCode: 1, signal: undefined, errors });

/** What a reader makes of an output. */
function logOf(name: string, lines: readonly object[]): AgentLog {
  const reader = name === 'own' ? wholeOutputReader() : adapterFor(name)!.reader();
  const log = { ...nothing };
  for (const event of [...lines.flatMap((line) => reader.line(JSON.stringify(line))), ...reader.end()]) {
    if (event.type === 'result') log.result = event;
    if (event.type === 'text') log.lastText = event.text;
  }
  return log;
}

test.for(ADAPTER_NAMES.filter((name) => name !== 'command'))(
  '%s is believed when a limit resets if its program says so on its standard error',
  (name) => {
    const limit = agentFailure(chosen(name), failed(LIMIT), nothing)?.limit;
    expect(limit).toMatchObject({ scope: `agent:${name}`, resetAt: expect.any(Number) });
  },
);

test.for([
  ['claude', { type: 'result', subtype: 'success', is_error: true, result: LIMIT }],
  ['codex', { type: 'turn.failed', error: { message: LIMIT } }],
  ['gemini', { type: 'result', status: 'error', error: { message: LIMIT } }],
  ['opencode', { type: 'error', error: { data: { message: LIMIT } } }],
] as const)('%s is believed if it ends with that error', ([name, line]) => {
  const limit = agentFailure(chosen(name), failed(), logOf(name, [line]))?.limit;
  expect(limit?.resetAt).toBeGreaterThan(Date.now());
});

test.for([
  ['claude', { type: 'assistant', message: { content: [{ type: 'text', text: LIMIT }] } }],
  ['qwen', { type: 'result', subtype: 'success', result: `[API Error: 429 ${LIMIT}]` }],
  ['codex', { type: 'item.completed', item: { type: 'agent_message', text: LIMIT } }],
  ['gemini', { type: 'message', role: 'assistant', content: LIMIT }],
  ['opencode', { type: 'text', part: { text: LIMIT } }],
  ['own', { text: LIMIT }],
] as const)('%s is not believed when a limit resets if only its model says so', ([name, line]) => {
  const limit = agentFailure(chosen(name), failed(), logOf(name, [line]))?.limit;
  expect(limit).toEqual({ scope: `agent:${name}` });
});
