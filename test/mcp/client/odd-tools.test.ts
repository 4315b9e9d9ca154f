import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openaiChatTools } from '../../../src/coordinator/formats/openai.ts';
import { toolNames } from '../../../src/coordinator/formats/tool-names.ts';
import { discoveredTools } from '../../../src/mcp/open-coordinator.ts';
import { folderWith, say } from '../../cli/support/program.ts';
import { until } from '../../support/until.ts';
import { logOf, oddServer, openWith, testFolder } from './support/open.ts';

const PROGRAM = fileURLToPath(new URL('./support/odd-server.mjs', import.meta.url));

/** The server in `volley.toml`. */
function tableOf(name: string, args: string[] = [], more = ''): string {
  const lines = [
    `[mcp.servers.${name}]`,
    `command = ${JSON.stringify(process.execPath)}`,
    `args = ${JSON.stringify([PROGRAM, ...args])}`,
    'env = { ODD_LOG = "log.txt" }',
    more,
  ];
  return `${lines.join('\n')}\n`;
}

async function open(changes: Parameters<typeof oddServer>[1] = {}) {
  const folder = testFolder();
  const coordinator = await openWith(folder, { odd: oddServer(folder, changes) });
  const call = (name: string, options: { signal?: AbortSignal } = {}) =>
    coordinator.executeSingle({ name, arguments: {} }, options);
  return { folder, coordinator, call };
}

test('names with a slash can be called, and none is taken for another', async () => {
  const { coordinator } = await open();
  await coordinator.discover();
  const names = coordinator.tools('odd.*').map(({ name }) => name);
  const hashed = names.find((name) => /^odd\.issues_list_[0-9a-f]{6}$/.test(name))!;
  expect(names).toEqual(expect.arrayContaining(['odd.issues_list', hashed, 'odd.repos_get_all']));
  const results = await coordinator.executeParallel(
    ['odd.issues_list', hashed, 'odd.repos_get_all'].map((name) => ({ name, arguments: {} })),
  );
  expect(results.map((result) => result.status === 'completed' && result.value)).toMatchObject([
    { text: 'I am issues_list' },
    { text: 'I am issues/list' },
    { text: 'I am repos/get all' },
  ]);
  const tools = coordinator.tools('odd.*');
  const provided = toolNames(tools);
  for (const { function: known } of openaiChatTools(tools, provided)) {
    expect(known.name).toMatch(/^[\w-]{1,64}$/);
    expect(names).toContain(provided.fromProvider(known.name));
  }
});

test('globs match names with a slash as the server writes them', async () => {
  const { coordinator } = await open({ allow: ['issues/*', 'repos*'], deny: ['issues*list', '*all'] });
  await coordinator.discover();
  expect(coordinator.tools('odd.*')).toEqual([]);
  const other = await open({ allow: ['issues/*'] });
  await other.coordinator.discover();
  expect(other.coordinator.tools('odd.*')).toMatchObject([
    { name: expect.stringMatching(/^odd\.issues_list_/) },
  ]);
});

test('a tool whose schema cannot be used is named with the reason, and the others work', async () => {
  const { coordinator } = await open();
  const { withheld } = await discoveredTools(coordinator);
  expect(withheld.filter(({ name }) => name.startsWith('odd.'))).toEqual([
    { name: 'odd.bad_schema', reason: expect.stringContaining('schema') },
  ]);
  const home = folderWith({ 'volley.toml': tableOf('odd') });
  const listed = await say(home, ['tools', 'odd.*']);
  expect(listed.status).toBe(0);
  expect(listed.stderr).toMatch(/^odd\.bad_schema cannot be called: .*schema/m);
  const all = JSON.parse((await say(home, ['tools', '--json'])).stdout);
  expect(all.withheld).toMatchObject([{ name: 'odd.bad_schema' }]);
});

test('a tool that its server runs only as a task gives its result', async () => {
  const { call, folder, coordinator } = await open();
  const steps: string[] = [];
  coordinator.engine.progress.listen((update) => {
    if (update.type === 'step') steps.push(update.step);
  });
  expect(await call('odd.research')).toMatchObject({ status: 'completed', value: { text: 'found it' } });
  expect(steps).toEqual(['step 0', 'step 1', 'step 2']);
  expect(await call('odd.research_badly')).toMatchObject({
    status: 'failed',
    error: { message: expect.stringContaining('no luck') },
  });
  expect(logOf(folder)).toEqual([
    'research started',
    'research polled',
    'research result',
    'research_badly started',
    'research_badly polled',
    'research_badly result',
  ]);
});

test('a task is cancelled with its call', async () => {
  const { call, folder } = await open();
  const stop = new AbortController();
  const running = call('odd.research_endlessly', { signal: stop.signal });
  await until(() => logOf(folder).includes('research_endlessly polled'), 'the first poll');
  stop.abort();
  expect(await running).toMatchObject({ status: 'cancelled' });
  await until(() => logOf(folder).includes('research_endlessly cancelled'), 'the end of the task');
});

test('a task that asks for input is cancelled, because nobody can answer', async () => {
  const { call, folder } = await open();
  expect(await call('odd.ask')).toMatchObject({
    status: 'failed',
    attempts: 1,
    error: { message: expect.stringContaining('input') },
  });
  await until(() => logOf(folder).includes('ask cancelled'), 'the end of the task');
});

test('roots that make a server ignore its own folder are pointed out', async () => {
  const folder = folderWith({
    'volley.toml':
      tableOf('docs', ['docs']) + tableOf('same', ['.']) + tableOf('own', ['docs'], 'roots = []\n'),
  });
  mkdirSync(`${folder}/docs`);
  const { mcp_servers: servers } = JSON.parse((await say(folder, ['tools', '--json'])).stdout);
  expect(servers).toMatchObject([
    { name: 'docs', hint: expect.stringContaining('roots = [] under [mcp.servers.docs]') },
    { name: 'same' },
    { name: 'own' },
  ]);
  expect(servers.filter(({ hint }: { hint?: string }) => hint !== undefined)).toHaveLength(1);
  const { stderr } = await say(folder, ['tools']);
  expect(stderr).toMatch(/^MCP server docs: ready, \d+ tools; it is given the roots /m);
});
