import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { hintsIn, hintText } from '../../src/batch/hints.ts';
import { type LogPage, readLog } from '../../src/batch/log-page.ts';
import { RunOutput } from '../../src/batch/run/task-output.ts';
import { followTask, taskLog } from '../../src/batch/task-log.ts';
import type { OutputChunk } from '../../src/store/records.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { openRig, type Rig } from './support/rig.ts';

const plain = ({ lines }: LogPage) => lines.map(({ stream, text }) => `${stream}: ${text}`);

async function logOf({ store }: Rig, id: string, attempt?: number): Promise<string[]> {
  return plain(await readLog(taskLog(store, { batch: 'b', id }), { attempt, limit: 1000 }));
}

it('keeps what tools of every isolation print, log and report, without secrets and control sequences', async () => {
  process.env['TEST_API_TOKEN'] = 'very-secret-value-1';
  onTestFinished(() => void delete process.env['TEST_API_TOKEN']);
  const inline = defineTool({
    name: 'inline',
    run: (_: object, { log, report }) => {
      report(0.5, 'half way');
      report('half way');
      log('two\nlines with very-secret-value-1 and \u001b[31mred\u001b[0m');
    },
  }) as Tool;
  const rig = await openRig([inline]);
  const module = join(rig.folder, 'printing.mjs');
  writeFileSync(
    module,
    `export const run = async (_, { log }) => {
      console.log('out very-secret-value-1'); console.error('err'); log('logged'); process.stdout.write('no newline');
    };`,
  );
  const url = pathToFileURL(module);
  for (const isolation of ['thread', 'process'] as const)
    rig.coordinator.register(
      defineTool({ name: isolation, isolation, module: url, exportName: 'run' }) as Tool,
    );
  const tasks = ['inline', 'thread', 'process'].map((name) => ({ id: name, function: name, params: {} }));
  await rig.ask('add_batch', { batch: 'b', tasks });
  await rig.ask('start', { batch: 'b', wait: true });
  expect(await logOf(rig, 'inline')).toEqual([
    'step: half way',
    'log: two',
    'log: lines with [redacted] and red',
  ]);
  const { text, logged_attempts: logged } = await rig.executor.report('b', 'inline');
  expect(logged).toEqual([1]);
  expect(hintsIn(text)).toContain(hintText('logs', 'inline'));
  expect((await logOf(rig, 'thread')).sort()).toEqual([
    'log: logged',
    'stderr: err',
    'stdout: no newline',
    'stdout: out [redacted]',
  ]);
  expect((await logOf(rig, 'process')).sort()).toEqual([
    'stderr: err',
    'stdout: logged',
    'stdout: no newline',
    'stdout: out [redacted]',
  ]);
  const { data } = await rig.ask('logs', { batch: 'b', id: 'process', search: 'OUT' });
  expect(data).toMatchObject({ attempt: 1, end_line: 4, lines: [{ text: 'out [redacted]' }] });
  expect(await rig.executor.handle({ action: 'logs', batch: 'b', id: 'process', attempt: 2 })).toMatchObject({
    ok: false,
    error: { code: 'INVALID_VALUE' },
  });
});

it('has the log of a program, and those of each attempt', async () => {
  const fails = defineTool({
    name: 'fails',
    idempotent: true,
    run: (_: object, { log, attempt }) => {
      log(`try ${attempt}`);
      if (attempt === 1) throw new Error('not yet');
    },
  }) as Tool;
  const rig = await openRig([fails]);
  await rig.ask('add_batch', {
    batch: 'b',
    tasks: [
      { id: 'p', function: 'run_program', params: { code: 'log("from the program"); return 1' } },
      { id: 'f', function: 'fails', params: {}, max_retries: 1 },
    ],
  });
  await rig.ask('start', { batch: 'b', wait: true });
  expect(await logOf(rig, 'p')).toEqual(['log: from the program']);
  expect(await logOf(rig, 'f', 1)).toEqual(['log: try 1']);
  expect(await logOf(rig, 'f')).toEqual(['log: try 2']);
});

it('is followed while the task runs, to its last line', async () => {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const talks = defineTool({
    name: 'talks',
    run: async (_: object, { log }) => {
      log('first');
      await released;
      log('last');
    },
  }) as Tool;
  const rig = await openRig([talks]);
  await rig.ask('add_batch', { batch: 'b', tasks: [{ id: 't', function: 'talks', params: {} }] });
  await rig.ask('start', { batch: 'b' });
  const seen: string[] = [];
  for await (const page of followTask(rig.store, { batch: 'b', id: 't' }, { limit: 10 })) {
    seen.push(...plain(page));
    if (seen.length === 1) release();
  }
  expect(seen).toEqual(['log: first', 'log: last']);
});

it('hides a private key that is printed in pieces, and cuts lines without an end', async () => {
  const chunks: OutputChunk[] = [];
  const store = {
    addOutput: async (_: string, added: readonly OutputChunk[]) => void chunks.push(...added),
    trimOutput: async () => 0,
  };
  const rig = await openRig();
  const run = new RunOutput(store, 'b', rig.coordinator.redactor, { logMb: 1, taskLogMb: 1 });
  const output = run.open(1, 1);
  output.write('stdout', 'a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEdead\n');
  run.flush(output);
  output.write('stdout', 'beefbeef\n');
  run.flush(output);
  output.write('stdout', 'f00d\n-----END RSA PRIVATE KEY-----\nz\n');
  output.write('stderr', 'y'.repeat(200_000));
  output.close();
  output.write('stdout', 'too late\n');
  const texts = chunks.flatMap(({ lines }) => lines.map(({ text }) => text));
  expect(texts.join('\n')).not.toMatch(/dead|beef|f00d|late/);
  expect(texts.slice(0, 2)).toEqual(['a', '[redacted]']);
  expect(texts.at(-2)).toBe('z');
  expect(texts.at(-1)).toMatch(/^y{65536}… /);
  // The lines are numbered without gaps.
  expect(chunks.map(({ firstLine, lines }) => firstLine + lines.length)).toEqual(
    chunks.map((_, index) => chunks.slice(0, index + 1).reduce((sum, { lines }) => sum + lines.length, 0)),
  );
});
