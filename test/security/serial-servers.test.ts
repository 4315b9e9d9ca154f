import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { endOf, runBuilt, startBuilt } from '../e2e/support/built-volley.ts';
import { project } from '../e2e/support/project.ts';
import { isAlive } from '../support/alive.ts';
import { amount, casesOf } from '../support/depth.ts';
import { trustFolder } from '../support/trust.ts';
import { until } from '../support/until.ts';

const SERVER = fileURLToPath(new URL('./support/counter-mcp-server.mjs', import.meta.url));

const ROUNDS = amount({ quick: 1, deep: 3 });

function tasks(tool: string, count: number, params: object = {}): string {
  return JSON.stringify({
    tasks: Array.from({ length: count }, (_, n) => ({ id: `t${n}`, function: tool, params })),
  });
}

/** A folder with lists of calls of a server that loses all changes but one of those that come at once. */
function counterProject(settings: string, params: object = {}): string {
  return project({
    'volley.toml': `[mcp.servers.counter]
command = ${JSON.stringify(process.execPath)}
args = [${JSON.stringify(SERVER)}]
env = { COUNTER = "count", HOLD = "held" }
${settings}
`,
    'a.json': tasks('counter.add', 15, params),
    'b.json': tasks('counter.add', 15, params),
    'hold.json': tasks('counter.hold', 1),
  });
}

describe('two processes of one store that call a serial MCP server', () => {
  test.each(
    casesOf(
      [
        ['parallel = "none"', {}, 'count'],
        ['parallel = "read-only"', {}, 'count'],
        ['parallel = "all"\ntools.add = { lock = "to" }', { to: '-x' }, 'count-x'],
      ] as const,
      2,
    ),
  )('lose none of its changes: %s', async (settings, params, file) => {
    for (let round = 0; round < ROUNDS; round++) {
      const folder = counterProject(settings, params);
      const ended = await Promise.all(['a.json', 'b.json'].map((list) => runBuilt(folder, ['run', list])));
      expect(ended.map(({ status }) => status)).toEqual([0, 0]);
      expect(readFileSync(join(folder, file), 'utf8')).toBe('30');
    }
  });

  test('go on when the one that has its turn is killed', async () => {
    const folder = counterProject('parallel = "none"');
    await trustFolder(folder);
    const holder = startBuilt(folder, ['run', 'hold.json']);
    const ended = endOf(holder);
    await until(() => existsSync(join(folder, 'held')), 'the call that never ends');
    const server = Number(readFileSync(join(folder, 'held'), 'utf8'));
    onTestFinished(() => {
      if (isAlive(server)) process.kill(server, 'SIGKILL');
    });
    const other = runBuilt(folder, ['run', 'a.json']);
    // The other has started a server of its own.
    await until(() => readFileSync(join(folder, 'servers'), 'utf8').split('\n').length > 2, 'the other');
    expect(existsSync(join(folder, 'count'))).toBe(false);
    holder.kill('SIGKILL');
    await ended;
    expect((await other).status).toBe(0);
    expect(readFileSync(join(folder, 'count'), 'utf8')).toBe('15');
  });
});
