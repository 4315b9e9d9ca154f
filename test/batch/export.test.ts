import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openRig, type Rig } from './support/rig.ts';

/** A reader for RFC 4180. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
  for (let match = field.exec(text); match !== null; match = field.exec(text)) {
    const [, quoted, plain, end] = match;
    row.push(quoted === undefined ? plain! : quoted.replaceAll('""', '"'));
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

async function ranBatch(): Promise<Rig> {
  const rig = await openRig();
  await rig.ask('add_batch', {
    tasks: [
      {
        id: '=1+1',
        name: '+SUM(A1)',
        function: 'echo',
        params: { text: 'a "quoted", text\r\nof two lines' },
      },
      { id: '@x', name: '-2+3', function: 'broken', params: { message: '=cmd|x | <b>*bold*</b>' } },
      { id: 'skip', name: 'plain', function: 'echo', depends_on: ['@x'] },
    ],
  });
  await rig.ask('start', { wait: true });
  return rig;
}

const contentOf = ({ folder }: Rig, file: string) => readFileSync(join(folder, file), 'utf8');

describe('export', () => {
  it('begins a CSV file with a byte order mark if asked, and only such a file', async () => {
    const rig = await ranBatch();
    await rig.ask('export', { output_file: 'plain.csv' });
    await rig.ask('export', { output_file: 'excel.csv', bom: true });
    expect(contentOf(rig, 'excel.csv')).toBe(`\ufeff${contentOf(rig, 'plain.csv')}`);
    expect(await rig.executor.handle({ action: 'export', output_file: 'a.json', bom: true })).toMatchObject({
      ok: false,
      error: { code: 'INVALID_REQUEST' },
    });
  });

  it('writes CSV that reads back, in which nothing begins as a formula', async () => {
    const rig = await ranBatch();
    const answer = await rig.ask('export', { format: 'csv', output_file: 'out.csv' });
    const text = contentOf(rig, 'out.csv');
    expect(answer.data).toMatchObject({ tasks: 3, bytes: Buffer.byteLength(text) });
    const [header, ...rows] = parseCsv(text);
    const table = rows.map((row) => Object.fromEntries(header!.map((name, index) => [name, row[index]])));
    expect(rows.every((row) => row.length === header!.length)).toBe(true);
    expect(rows.flat().filter((cell) => /^[=+\-@\t\r]/.test(cell))).toEqual([]);
    expect(table).toMatchObject([
      { id: "'=1+1", name: "'+SUM(A1)", status: 'completed', attempts: '1' },
      {
        id: "'@x",
        name: "'-2+3",
        status: 'failed',
        reason: 'error',
        message: "'=cmd|x | <b>*bold*</b>",
        result: '',
      },
      { id: 'skip', status: 'skipped', cause: "'@x", duration_ms: '' },
    ]);
    expect(JSON.parse(table[0]!['result']!)).toEqual({ text: 'a "quoted", text\r\nof two lines' });
  });

  it('leaves negative numbers as they are', async () => {
    const rig = await openRig();
    await rig.ask('add', { id: 'x', function: 'echo', params: { n: -5 } });
    await rig.ask('add', { id: 'y', function: 'echo', params: { $from: 'x', path: '/n' } });
    await rig.ask('start', { wait: true });
    await rig.ask('export', { format: 'csv', output_file: 'out.csv' });
    expect(parseCsv(contentOf(rig, 'out.csv'))[2]!.at(-1)).toBe('-5');
  });

  it('writes one JSON document, or one for each line', async () => {
    const rig = await ranBatch();
    await rig.ask('export', { format: 'json', output_file: 'out.json' });
    await rig.ask('export', {
      format: 'jsonl',
      output_file: 'out.jsonl',
      filter_status: ['completed', 'skipped'],
    });
    const { batch, tasks } = JSON.parse(contentOf(rig, 'out.json'));
    expect(batch).toBe('default');
    expect(tasks).toMatchObject([
      { id: '=1+1', result: { text: 'a "quoted", text\r\nof two lines' } },
      { id: '@x', status: 'failed', code: null },
      { id: 'skip', cause: '@x' },
    ]);
    const lines = contentOf(rig, 'out.jsonl').trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual([tasks[0], tasks[2]]);
  });

  it('writes a table in Markdown, on which no text has an effect', async () => {
    const rig = await ranBatch();
    await rig.ask('export', { format: 'markdown', output_file: 'out.md' });
    const lines = contentOf(rig, 'out.md').trimEnd().split('\n');
    expect(lines).toHaveLength(7);
    expect(lines[5]).toContain('=cmd\\|x \\| &lt;b&gt;\\*bold\\*&lt;/b&gt;');
    expect(lines.slice(2).map((line) => line.match(/(?<!\\)\|/g)!.length)).toEqual([8, 8, 8, 8, 8]);
  });

  it('takes the format that the name of the file asks for, unless another one is named', async () => {
    const rig = await ranBatch();
    const formats = ['a.CSV', 'a.jsonl', 'a.md', 'a.json', 'a.txt'].map(
      async (output_file) => (await rig.ask('export', { output_file })).data['format'],
    );
    expect(await Promise.all(formats)).toEqual(['csv', 'jsonl', 'markdown', 'json', 'json']);
    const named = await rig.ask('export', { output_file: 'b.csv', format: 'json' });
    expect(named.data['format']).toBe('json');
  });

  it('of nothing is a whole file, too', async () => {
    const rig = await ranBatch();
    for (const format of ['json', 'csv', 'jsonl', 'markdown'])
      await rig.ask('export', { format, output_file: `none.${format}`, filter_status: 'open' });
    expect(JSON.parse(contentOf(rig, 'none.json'))).toEqual({ batch: 'default', tasks: [] });
    expect(parseCsv(contentOf(rig, 'none.csv'))).toHaveLength(1);
    expect(contentOf(rig, 'none.jsonl')).toBe('');
  });

  it('stays inside the roots, also through links, and leaves no half file', async () => {
    const rig = await ranBatch();
    symlinkSync('/tmp', join(rig.folder, 'away'));
    writeFileSync(join(rig.folder, 'kept.json'), 'old');
    mkdirSync(join(rig.folder, 'inner'));
    const refused = await rig.executor.handle({ action: 'export', output_file: 'away/volley-out.json' });
    expect(refused).toMatchObject({ ok: false, error: { code: 'PATH_NOT_ALLOWED' } });
    const folder = await rig.executor.handle({ action: 'export', output_file: 'inner' });
    expect(folder).toMatchObject({ ok: false, error: { code: 'EXPORT_FAILED' } });
    await rig.ask('export', { output_file: 'kept.json' });
    expect(JSON.parse(contentOf(rig, 'kept.json'))).toMatchObject({ batch: 'default' });
    expect(readdirSync(rig.folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('says what could not be written and what to do, and leaves the old file and no half one', async () => {
    const rig = await ranBatch();
    writeFileSync(join(rig.folder, 'kept.json'), 'old');
    const before = readdirSync(rig.folder);
    const texts: string[] = [];
    const refuse = async (file: string, why: string) => {
      const { error } = await rig.executor.handle({ action: 'export', output_file: file });
      expect(error).toMatchObject({ code: 'EXPORT_FAILED' });
      texts.push(`${why}: ${error?.message}`);
    };
    for (const file of ['kept.json/out.json', 'none/out.json']) await refuse(file, 'no folder');
    const handle = await open(join(rig.folder, 'kept.json'));
    const full = vi.spyOn(Object.getPrototypeOf(handle), 'write');
    onTestFinished(() => full.mockRestore());
    await handle.close();
    for (const code of ['ENOSPC', 'EDQUOT', 'EACCES', 'EXDEV']) {
      full.mockRejectedValue(Object.assign(new Error(`${code}: no luck, write`), { code }));
      for (const file of ['kept.json', 'new.json']) await refuse(file, code);
    }
    await expect(texts.join('\n')).toMatchFileSnapshot('golden/export-errors.txt');
    expect(readdirSync(rig.folder)).toEqual(before);
    expect(contentOf(rig, 'kept.json')).toBe('old');
  });

  it('does not replace what Volley itself reads', async () => {
    const rig = await ranBatch();
    const refused = await rig.executor.handle({ action: 'export', output_file: 'volley.toml' });
    expect(refused).toMatchObject({ ok: false, error: { code: 'PATH_PROTECTED' } });
    expect(existsSync(join(rig.folder, 'volley.toml'))).toBe(false);
  });

  it('does not follow a root that has become a link since the start', async () => {
    const outside = realpathSync(mkdtempSync(join(tmpdir(), 'volley-export-')));
    onTestFinished(() => rmSync(outside, { recursive: true }));
    const rig = await openRig([], (config) => {
      const inner = join(config.folder, 'inner');
      mkdirSync(inner);
      return { ...config, tools: { ...config.tools, roots: [config.folder, inner] } };
    });
    await rig.ask('add', { function: 'echo' });
    rmdirSync(join(rig.folder, 'inner'));
    symlinkSync(outside, join(rig.folder, 'inner'));
    const refused = await rig.executor.handle({ action: 'export', output_file: 'inner/out.json' });
    expect(refused).toMatchObject({ ok: false, error: { code: 'PATH_NOT_ALLOWED' } });
    expect(readdirSync(outside)).toEqual([]);
  });
});
