import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { AgentEvent } from '../../src/agents/adapter.ts';
import { ADAPTER_NAMES, adapterFor, commandAdapter } from '../../src/agents/adapters.ts';

const FIXTURES = fileURLToPath(new URL('./fixtures/', import.meta.url));
const LAST_WORD = 'The file is written.';

/** What the same four calls were, in the words of each agent. */
const TOOLS: Readonly<Record<string, readonly [write: string, shell: string]>> = {
  claude: ['Write', 'Bash'],
  gemini: ['write_file', 'run_shell_command'],
  opencode: ['write', 'bash'],
  qwen: ['write_file', 'run_shell_command'],
};

/** What each says that it used: five calls of the model. */
const TOKENS = { type: 'usage', inputTokens: 6000, outputTokens: 170 } as const;
const USED: Readonly<Record<string, AgentEvent>> = {
  claude: { ...TOKENS, turns: 5, costUsd: expect.closeTo(0.03425) as number },
  // Calls of its model are no turns to Codex: the whole is one.
  codex: { ...TOKENS, turns: 1 },
  gemini: TOKENS,
  opencode: { ...TOKENS, turns: 5, costUsd: expect.closeTo(0.00634) as number },
  qwen: { ...TOKENS, turns: 5 },
};

const streams = readdirSync(FIXTURES).filter((file) => !file.endsWith('-failed.jsonl'));
const failed = readdirSync(FIXTURES).filter((file) => file.endsWith('-failed.jsonl'));

describe('what the real agents wrote', () => {
  test('is there for every agent that is known by name', () => {
    const names = ADAPTER_NAMES.filter((name) => name !== 'command').sort();
    expect(streams.map(agentOf)).toEqual(names);
    expect(failed.map(agentOf)).toEqual(names);
  });

  test.for(streams)('%s tells of each tool, of what was used, and of the result', (file) => {
    const events = read(agentOf(file), lines(file));
    const [write, shell] = TOOLS[agentOf(file)] ?? [];
    const steps = [
      { type: 'tool', name: write, detail: '/project/one/out.txt' },
      { type: 'tool', name: shell, detail: 'volley tasks complete demo one Done' },
      { type: 'tool', name: shell, detail: 'mkdir -p /project/one/a && cp out.txt /project/one/refused.txt' },
      { type: 'tool', name: write, detail: '/project/one/a/b.env' },
    ];
    const codexSteps = [
      { type: 'tool', name: 'shell', detail: "printf %s 'hello' > '/project/one/out.txt'" },
      ...steps.slice(1, 3).map((step) => ({ ...step, name: 'shell' })),
      { type: 'tool', name: 'shell', detail: "printf %s 'KEY=1' > '/project/one/a/b.env'" },
    ];
    const outputs = events.filter(({ type }) => type === 'output');
    // What each of the four calls returned; Codex also has a warning.
    expect(outputs.length).toBe(agentOf(file) === 'codex' ? 5 : 4);
    expect(events.filter(({ type }) => type !== 'usage' && type !== 'output')).toEqual([
      ...(agentOf(file) === 'codex' ? codexSteps : steps),
      { type: 'text', text: LAST_WORD },
      { type: 'result', ok: true, text: LAST_WORD },
    ]);
    expect(events.findLast(({ type }) => type === 'usage')).toEqual(USED[agentOf(file)]);
  });

  test.for(['claude', 'opencode', 'qwen'])('of %s counts up while it works', (name) => {
    const file = streams.find((stream) => agentOf(stream) === name)!;
    const counted = read(name, lines(file)).flatMap((event) => (event.type === 'usage' ? [event] : []));
    expect(counted.slice(0, 5).map(({ turns, inputTokens }) => [turns, inputTokens])).toEqual([
      [1, 1200],
      [2, 2400],
      [3, 3600],
      [4, 4800],
      [5, 6000],
    ]);
  });

  test.for(failed)('%s says that it failed and why', (file) => {
    const events = read(agentOf(file), lines(file));
    expect(events.filter(({ type }) => type === 'result')).toMatchObject([
      {
        type: 'result',
        ok: false,
        text: expect.stringMatching(/^(?:\[?API Error: 400 )?no such model today\]?$/),
      },
    ]);
  });
});

describe('a reader', () => {
  test('of codex names changed files and tools of servers once, by what they touch', () => {
    const change = { id: '1', type: 'file_change', changes: [{ path: 'a.ts' }, { path: 'b.ts' }] };
    const call = { id: '2', type: 'mcp_tool_call', server: 'volley', tool: 'run_batch', arguments: {} };
    const events = read('codex', [
      ...['item.started', 'item.completed'].map((type) => JSON.stringify({ type, item: change })),
      ...['item.started', 'item.completed'].map((type) => JSON.stringify({ type, item: call })),
    ]);
    expect(events).toEqual([
      { type: 'tool', name: 'edit', detail: 'a.ts, b.ts' },
      { type: 'tool', name: 'volley.run_batch' },
    ]);
  });

  test('of claude counts the parts of one message once, and tokens of the cache as read', () => {
    const part = (text: string, output: number) => ({
      type: 'assistant',
      message: {
        id: 'm1',
        content: [{ type: 'text', text }],
        usage: { input_tokens: 10, cache_read_input_tokens: 500, output_tokens: output },
      },
    });
    const events = read(
      'claude',
      [part('One', 1), part('Two', 7)].map((line) => JSON.stringify(line)),
    );
    expect(events.at(-1)).toEqual({ type: 'usage', turns: 1, inputTokens: 510, outputTokens: 7 });
  });

  test('of gemini puts the pieces of a message together, also where the agent was cut off', () => {
    const piece = (content: string) => JSON.stringify({ type: 'message', role: 'assistant', content });
    expect(read('gemini', [piece('Half of '), piece('a word')])).toEqual([
      { type: 'text', text: 'Half of a word' },
    ]);
  });

  test.for(ADAPTER_NAMES.filter((name) => name !== 'command'))(
    'of %s passes over noise, torn lines and events of shapes that it does not know',
    (name) => {
      const noise = [
        '',
        'Warning: something',
        '{"type":"item.completed","it',
        'null',
        '[1]',
        '{"type":7}',
        ...['assistant', 'result', 'item.completed', 'turn.completed', 'turn.failed', 'error', 'message']
          .concat('tool_use', 'text', 'step_finish')
          .flatMap((type) => [{ type }, { type, message: 1, item: [], part: 'x', usage: 'y', stats: null }])
          .map((event) => JSON.stringify(event)),
      ];
      expect(() => read(name, noise)).not.toThrow();
    },
  );

  test('bounds what an agent says, and takes the colours of terminals off', () => {
    const reader = commandAdapter(['agent']).reader();
    expect(reader.line('\u001b[31mred\u001b[0m\u0007')).toEqual([{ type: 'text', text: 'red\ufffd' }]);
    expect(reader.line('   ')).toEqual([]);
    const [event] = reader.line('x'.repeat(1_000_000));
    expect((event as { text: string }).text.length).toBeLessThan(20_000);
    expect(reader.end()).toEqual([]);
  });
});

function agentOf(file: string): string {
  return file.slice(0, file.indexOf('-'));
}

function lines(file: string): readonly string[] {
  return readFileSync(`${FIXTURES}${file}`, 'utf8').split('\n');
}

function read(name: string, text: readonly string[]): readonly AgentEvent[] {
  const reader = adapterFor(name)!.reader();
  return [...text.flatMap((line) => reader.line(line)), ...reader.end()];
}
