import { expect, it } from 'vitest';
import { parseTaskFile } from '../../src/cli/input/task-file.ts';
import { MCP_CLIENTS } from '../../src/cli/mcp/clients.ts';
import { planInstall } from '../../src/cli/mcp/edit-config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { VolleyError } from '../../src/core/errors.ts';
import { parsePatterns, patternsIntersect } from '../../src/tasks/plan/deliverables.ts';
import { patternProblem } from '../../src/tools/builtin/input-fields.ts';
import { linearGlob } from '../../src/tools/pattern/glob.ts';
import { linearRegex } from '../../src/tools/pattern/regex.ts';
import { compileJsonSchema } from '../../src/tools/schema.ts';
import { folderWith, say } from './support/program.ts';

const MANY = 100_000;
const nested = (open: string, close: string, depth = MANY) => `${open.repeat(depth)}1${close.repeat(depth)}`;
const BRACKETS = nested('[', ']');
const OBJECTS = nested('{"a":', '}');
const STAIRS = Array.from({ length: 3000 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n');
const DOTTED = `${'a.'.repeat(MANY)}a = 1`;

/** What is said, wherever that is. */
type Reading = () => Promise<unknown> | unknown;

const taskFile = (name: string, text: string) => () => parseTaskFile({ name, text });
const config =
  (text: string, env = {}) =>
  () =>
    loadConfig({ cwd: folderWith({ 'volley.toml': text }), env });
const program =
  (files: Readonly<Record<string, string>>, ...argv: string[]) =>
  async () => {
    const { stdout, stderr } = await say(folderWith(files), argv);
    throw new VolleyError('INVALID_VALUE', stdout + stderr);
  };
const client = (name: string, file: string, text: string) => () =>
  planInstall(MCP_CLIENTS.find((one) => one.name === name)!, `${folderWith({ [file]: text })}/${file}`, {
    command: 'volley',
    args: [],
  });
const feature = (fields: string) => ({
  '.tmp/tasks/f/task.json': '{"name":"f"}',
  '.tmp/tasks/f/subtask_01.json': `{"seq":"01","title":"t","status":"pending",${fields}}`,
});

const DEEPER = 'nested deeper than';
const INPUTS: Readonly<Record<string, readonly [Reading, string]>> = {
  'tasks as JSON, lists': [taskFile('a.json', BRACKETS), `${DEEPER} 200`],
  'tasks as JSON, objects': [taskFile('a.json', OBJECTS), `${DEEPER} 200`],
  'tasks as JSON that do not end': [taskFile('a.json', '['.repeat(MANY)), `${DEEPER} 200`],
  'tasks as JSON Lines': [taskFile('a.jsonl', OBJECTS), `${DEEPER} 200`],
  'tasks as YAML': [taskFile('a.yaml', nested('{a: ', '}')), `${DEEPER} 200`],
  'tasks as YAML, in lines': [taskFile('a.yaml', STAIRS), `${DEEPER} 200`],
  'tasks as YAML, in one line': [taskFile('a.yaml', '- '.repeat(MANY)), `${DEEPER} 200`],
  'tasks as TOML': [taskFile('a.toml', `a = ${BRACKETS}`), 'excessively nested'],
  'tasks as TOML, a dotted key': [taskFile('a.toml', DOTTED), `${DEEPER} 200`],
  'a configuration, lists': [config(`a = ${BRACKETS}`), 'excessively nested'],
  'a configuration, a dotted key': [config(DOTTED), `${DEEPER} 100`],
  'a configuration, a header': [config(`[${'a.'.repeat(MANY)}a]`), `${DEEPER} 100`],
  'a configuration, a variable': [config('', { VOLLEY_TOOLS_ROOTS: BRACKETS }), 'must be a list of strings'],
  'a configuration, a glob': [config(`tools.allow = ["${nested('(', ')', 60)}"]`), 'more than 50 deep'],
  'settings of a client as JSON': [client('cursor', 'a.json', OBJECTS), 'nested too deeply'],
  'settings of a client as TOML': [client('codex', 'a.toml', DOTTED), 'nested too deeply'],
  'arguments of the command line': [
    program({}, 'add', '--function', 'read_file', '--params', OBJECTS),
    '100 levels',
  ],
  'a glob of tools': [program({}, 'tools', nested('@(', ')', 1000)), 'more than 50 deep'],
  'a long glob of tools': [program({}, 'tools', nested('(', ')')), 'longer than 4096'],
  'a glob of files': [
    program({}, 'run', '--each', nested('@(', ')', 900), '--function', 'read_file'),
    'more than 50 deep',
  ],
  'a subtask': [program(feature(`"depends_on":${BRACKETS}`), 'tasks', 'validate'), `${DEEPER} 100`],
  'a deliverable': [
    program(feature(`"deliverables":["${nested('@(', ')', 5000)}"]`), 'tasks', 'validate'),
    'is longer than 4096',
  ],
  'a deliverable that is looked for': [
    program(feature(`"deliverables":["${nested('@(', ')', 500)}"]`), 'tasks', 'verify', 'f', '01'),
    'more than 50 deep',
  ],
  'a description of a feature': [
    program({ 'f.yaml': `name: a\nsubtasks: ${BRACKETS}` }, 'tasks', 'new', 'f.yaml'),
    `${DEEPER} 100`,
  ],
  'a JSON Schema': [
    () => compileJsonSchema(JSON.parse(nested('{"not":', '}').replace('1', '{}')), 'input', 't'),
    `${DEEPER} 200`,
  ],
};

it.each(Object.entries(INPUTS))(
  '%s: nested without measure is refused in words',
  { timeout: 180_000 },
  async (_, [read, words]) => {
    const error = await Promise.resolve()
      .then(read)
      .then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
    expect(error).toBeInstanceOf(VolleyError);
    const { message } = error as VolleyError;
    expect(message).toContain(words);
    expect(message).not.toMatch(/call stack|Invalid regular expression|^\s+at /m);
  },
);

it('text that only looks deep is read as it is', () => {
  const prompt = `|\n    x\n${'    '.repeat(40)}x\n    ${'['.repeat(300)}\n`;
  const { tasks } = parseTaskFile({
    name: 'a.yaml',
    text: `tasks:\n- function: x\n  params: { a: b }\n  name: ${prompt}`,
  });
  expect(tasks).toHaveLength(1);
});

it('patterns of searches have a limit, and long paths are compared without one', () => {
  for (const pattern of [nested('(', ')'), nested('(a|', ')')])
    expect(patternProblem(() => linearRegex(pattern))).toContain('is not valid');
  expect(patternProblem(() => linearGlob(nested('{a,', '}')))).toContain('more than 50 deep');
  const pattern = (name: string) => parsePatterns(`${'**/a/'.repeat(400)}${name}`)[0]!;
  expect(patternsIntersect(pattern('x'), pattern('x'))).toBe(true);
  expect(
    patternsIntersect(parsePatterns(`${'a/'.repeat(2000)}x`)[0]!, parsePatterns(`${'a/'.repeat(2000)}y`)[0]!),
  ).toBe(false);
});
