import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Client } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { project } from '../e2e/support/project.ts';
import { dataOf } from '../mcp/server/support/mcp.ts';
import { connectStdio } from '../mcp/server/support/stdio-client.ts';
import { isDeep } from '../support/depth.ts';

const SERVER = fileURLToPath(new URL('./support/hostile-mcp-server.mjs', import.meta.url));
/** Codes do not stand in the answers of `run_batch`. */
const TOO_SLOW = 'took longer than';
const NO_MATCH = `${'a'.repeat(60)}!`;
/** For a pattern, which is matched in the program's own thread. */
const MAX_PATTERN_DELAY_MS = 100;
/** For what another thread does: on a busy machine the two share a core. */
const MAX_DELAY_MS = 500;
/** What the machine does besides delays some attempts; what the program does wrong delays all of them. */
const ATTEMPTS = 5;

/** A client of the program with the server, or also with one that tells of thousands of tools. */
async function connect(withMany = false): Promise<Client> {
  const server = (name: string, env: string) => `[mcp.servers.${name}]
command = ${JSON.stringify(process.execPath)}
args = [${JSON.stringify(SERVER)}]
parallel = "all"
env = { ${env} }
`;
  const config = server('evil', '') + (withMany ? server('many', 'HOSTILE_TOOLS = "2000"') : '');
  const { client } = await connectStdio(project({ 'volley.toml': config }), '2025-11-25');
  return client;
}

/** The answer to one call, as text. */
async function call(client: Client, tool: string, params: unknown = {}, server = 'evil'): Promise<string> {
  const tasks = [{ function: `${server}.${tool}`, params }];
  const ran = await client.callTool({ name: 'run_batch', arguments: { tasks } });
  return JSON.stringify(dataOf(ran)?.results ?? ran.content);
}

/** Asks the program again and again until the work ends, and tells how long the slowest answer took. */
async function slowestAnswerDuring(client: Client, work: Promise<unknown>): Promise<number> {
  let isOver = false;
  void work.finally(() => {
    isOver = true;
  });
  let slowestMs = 0;
  while (!isOver) {
    const begin = performance.now();
    await client.ping({ timeout: 120_000 });
    slowestMs = Math.max(slowestMs, performance.now() - begin);
    await sleep(5);
  }
  return slowestMs;
}

const chain = (levels: number): object => (levels === 0 ? {} : { next: chain(levels - 1) });

/** An attack, a part of the answer to it, and another one. */
type SchemaAttack = readonly [tool: string, params: object, answer: string, pattern?: string];

/** A pattern for the program's own thread, what takes too long before a call and after it, and a slow compilation. */
const ATTACKS: readonly SchemaAttack[] = [
  ['pattern', { value: NO_MATCH }, 'are not valid'],
  ['pattern_with_look_around', { value: NO_MATCH }, TOO_SLOW, '^(?=a)(a+)+$'],
  ['output', {}, TOO_SLOW],
  ['many_choices', { a0: 1, b: 1 }, 'completed'],
];
/** Each that is stopped takes as long as it may, so that these wait for the deep mode. */
const MORE_ATTACKS: readonly SchemaAttack[] = [
  ['pattern_with_back_reference', { value: NO_MATCH }, TOO_SLOW],
  ['names_of_properties', { [NO_MATCH]: 1 }, TOO_SLOW],
  ['format', { value: `http://${'::'.repeat(100_000)}\0` }, TOO_SLOW],
  ['doubling', { value: 'aa' }, TOO_SLOW],
  ['recursion', { value: chain(60) }, TOO_SLOW],
  ['unique_items', { value: Array.from({ length: 100_000 }, (_, id) => ({ id })) }, TOO_SLOW],
  ['nested_contains', {}, 'completed'],
];

describe('an MCP server with hostile schemas', () => {
  test('cannot delay other calls, and is told of by the name of its tool and the pattern', async () => {
    const client = await connect();
    expect(await call(client, 'honest', { value: 'abc' })).toContain('completed');
    for (const [tool, params, answer, pattern = ''] of isDeep ? [...ATTACKS, ...MORE_ATTACKS] : ATTACKS) {
      const maxDelayMs = tool === 'pattern' ? MAX_PATTERN_DELAY_MS : MAX_DELAY_MS;
      const delays: number[] = [];
      while (delays.length < ATTEMPTS && Math.min(...delays) > maxDelayMs) {
        const usual = await slowestAnswerDuring(client, sleep(250));
        const attack = call(client, tool, params);
        delays.push((await slowestAnswerDuring(client, attack)) - usual);
        expect([tool, await attack]).toEqual([tool, expect.stringContaining(answer)]);
        if (answer === TOO_SLOW) expect(await attack).toContain(`evil.${tool}`);
        expect(await attack).toContain(pattern);
      }
      expect([tool, Math.min(...delays) <= maxDelayMs, delays]).toEqual([tool, true, delays]);
      expect(await call(client, 'honest', { value: 'abc' })).toContain('completed');
    }
  });

  test('has only those of its tools refused that cannot be used, and runs no code', async () => {
    const client = await connect();
    // A machine that is busy enough stops what takes long, too.
    const answers = (tool: string, params: object, answer: string) =>
      expect.poll(() => call(client, tool, params), { timeout: 120_000 }).toContain(answer);
    for (const tool of ['huge_schema', 'deep_schema', 'wrong_schema', 'no_schema_of_ours'])
      await answers(tool, {}, 'may not be called');
    await answers('endless_reference', { value: 1 }, 'is not valid');
    await answers('broken_promise', {}, 'does not match its output schema');
    for (const tool of ['large_schema', 'injection']) await answers(tool, {}, 'completed');
    await answers('honest', { value: '1' }, 'are not valid');
  });

  test('may tell of thousands of tools, which are taken in a few at a time', async () => {
    const client = await connect(true);
    expect(await call(client, 'honest', { value: 'abc' })).toContain('completed');
    expect(await call(client, 'one_of_many_1900', { field0: 'a' }, 'many')).toContain('completed');
    expect(await call(client, 'one_of_many_1900', { field0: '' }, 'many')).toContain('are not valid');
  });
});
