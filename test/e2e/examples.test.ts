import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { pages, read as readProject } from '../docs/markdown.ts';
import { Checkout } from './support/checkout.ts';

const SLOW = { timeout: 240_000 };
const checkout = new Checkout();
afterAll(() => checkout.remove());

interface Picture {
  readonly width: number;
  readonly height: number;
  readonly pixels: Buffer;
}

const readme = pages().find(({ path }) => path === 'README.md')!;
const read = (path: string) => readFileSync(join(checkout.folder, path), 'utf8');

describe.concurrent('an example', () => {
  it('analyses every source file, and finds the most complex functions', SLOW, async ({ expect }) => {
    const sources = readdirSync(join(checkout.folder, 'src'), { recursive: true, encoding: 'utf8' });
    const count = sources.filter((path) => path.endsWith('.ts')).length;
    const { status, stdout } = await checkout.run('examples/analyse-files/run.mjs');
    expect(status).toBe(0);
    expect(stdout).toContain(`all ${count} tasks completed`);
    expect(stdout).toMatch(
      new RegExp(
        String.raw`^${count} files, \d{4,} lines of code, \d{3,} functions\. The most complex:$`,
        'm',
      ),
    );
    const complexities = [...stdout.matchAll(/^ +(\d+) {2}\S+ {2}src\/\S+\.ts:\d+$/gm)].map(([, text]) =>
      Number(text),
    );
    expect(complexities).toHaveLength(5);
    expect(complexities).toEqual(complexities.toSorted((a, b) => b - a));
    expect(read('examples/analyse-files/out/files.jsonl').trimEnd().split('\n')).toHaveLength(count);
  });

  it(
    'resizes pictures with a tool of its own: each has the new size and the old colours',
    SLOW,
    async ({ expect }) => {
      const { status, stdout, stderr } = await checkout.run('examples/resize-images/run.mjs');
      expect(status, stderr).toBe(0);
      expect(stdout).toContain('all 12 tasks completed');
      const folder = join(checkout.folder, 'examples/resize-images/out');
      const { decodePng } = (await import(
        pathToFileURL(join(checkout.folder, 'examples/resize-images/png.mjs')).href
      )) as { decodePng(file: Buffer): Picture };
      const names = readdirSync(join(folder, 'small')).sort();
      expect(names).toEqual(Array.from({ length: 12 }, (_, index) => `rings-${index + 1}.png`).sort());
      for (const name of names) {
        const large = decodePng(readFileSync(join(folder, name)));
        const small = decodePng(readFileSync(join(folder, 'small', name)));
        expect(large).toMatchObject({ width: 480, height: 320 });
        expect(small).toMatchObject({ width: 120, height: 80 });
        for (let colour = 0; colour < 3; colour++)
          expect(mean(small.pixels, colour)).toBeCloseTo(mean(large.pixels, colour), 0);
      }
    },
  );

  it('asks a model about files, and gets answers that match the schema', SLOW, async ({ expect }) => {
    const { status, stdout, stderr } = await checkout.run('examples/ask-about-files/run.mjs');
    expect(status, stderr).toBe(0);
    expect(stdout).toContain(
      'The model was asked 17 times: 4 answers were not valid, and 1 time it was busy.',
    );
    expect(stdout).toContain('12 of 12 from cache');
    const [, first] = read('examples/ask-about-files/out/urgency.csv').split('\r\n');
    expect(first).toContain('""urgency"":1');
  });

  it('asks a server no faster than the limit says, and asks everything', SLOW, async ({ expect }) => {
    const { status, stdout, stderr } = await checkout.run('examples/query-endpoints/run.mjs');
    expect(status, stderr).toBe(0);
    expect(stdout).toContain('all 31 tasks completed');
    expect(stdout).toMatch(/saw 30 requests in [\d.]+ s, at most \d+ in half a second/);
    // When they were started, not when they arrived: on a busy machine some catch up with others on their way.
    const words = ['results', '--batch', 'endpoints', '--format', 'json', '--json', '--limit', '100'];
    const { data } = JSON.parse((await checkout.volley(words, 'examples/query-endpoints')).stdout);
    const starts = data.results
      .map(({ started_at }: { started_at: string }) => Date.parse(started_at))
      .sort((a: number, b: number) => a - b);
    expect(starts).toHaveLength(31);
    const spans = starts.slice(10).map((at: number, place: number) => at - starts[place]);
    // Ten in 1.1 s are allowed; the half is left for a machine that holds the program up at the wrong moment.
    expect(Math.min(...spans)).toBeGreaterThan(550);
  });

  it('transforms records: what refers to what decides on the order', SLOW, async ({ expect }) => {
    const { status, stdout, stderr } = await checkout.trustedVolley(
      ['run', 'records.yaml', '--graph', 'out/graph.svg'],
      'examples/transform-records',
    );
    expect(status, stderr).toBe(0);
    expect(stdout).toContain('all 7 tasks completed');
    expect(read('examples/transform-records/out/report.md')).toBe(
      [
        '# 6 orders of 4 customers',
        '',
        'Most was sold to Italy: 240.',
        'Everything: [{"country":"Italy","amount":240},{"country":"India","amount":196.5},{"country":"Portugal","amount":179.5}]',
        '',
      ].join('\n'),
    );
    expect(read('examples/transform-records/out/graph.svg')).toContain('join orders and customers');
  });

  it(
    'compares configurations: the last task has seen the results of all others',
    SLOW,
    async ({ expect }) => {
      const folder = 'examples/compare-configurations';
      const ran = await checkout.trustedVolley(['run', 'compare.toml'], folder);
      expect(ran.status, ran.stderr).toBe(0);
      // The README shows how it ends. Times differ.
      const shown = readme.codeBlocks.find(({ options }) => options.get('like') === folder)!.text;
      const timeless = (text: string) =>
        text.replace(/[\d.]+ (?:h|min|s|ms)\b(?: \d+ (?:min|s)\b)?|[\d.]+×/g, '…');
      expect(timeless(ran.stdout)).toContain(timeless(shown));
      const { stdout } = await checkout.volley(['results', '--batch', 'compare', '--id', 'best'], folder);
      const { smallest, table } = JSON.parse(stdout.slice(stdout.indexOf('{')));
      expect(table).toHaveLength(6);
      expect(smallest).toBe('brotli 9');
      const percents = table.map((line: string) => Number(/: ([\d.]+)%/.exec(line)?.[1]));
      expect(percents).toEqual(percents.toSorted((a: number, b: number) => a - b));
    },
  );

  it(
    'plays forty calls of an agent on the engine, with a failure that is not in the way',
    SLOW,
    async ({ expect }) => {
      const { status, stdout } = await checkout.run('examples/forty-calls/run.mjs');
      expect(status).toBe(0);
      expect(stdout).toMatch(/^ 40 calls in [\d.]+ s/m);
      expect(stdout).toContain('✗ fetch shaded courts: 404 Not Found');
      expect(stdout).toContain('↷ extract shaded courts: skipped');
      expect(stdout).toMatch(/✓ merge buildings: made of \d notes instead of 4/);
    },
  );

  it(
    'measures what five kinds of work cost a model, and says in the guide what it measured',
    SLOW,
    async ({ expect }) => {
      const { status, stdout, stderr } = await checkout.run('examples/fewer-turns/run.mjs');
      expect(status, stderr).toBe(0);
      const rowsOf = (text: string) =>
        [...text.matchAll(/^\| ([^|]+) \| ([^|]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$/gm)].map(
          ([, work, way, ...numbers]) => ({
            key: `${work}: ${way}`,
            numbers: numbers.map((number) => Number(number.replaceAll(',', ''))),
          }),
        );
      const rows = rowsOf(stdout);
      expect(rows).toHaveLength(25);
      // Turns, and the tokens that a model writes, are the same everywhere.
      const countsOf = (text: string) =>
        rowsOf(text).map(({ key, numbers: [turns, written] }) => [key, turns, written]);
      const guide = readFileSync(new URL('../../docs/agents.md', import.meta.url), 'utf8');
      expect(countsOf(guide)).toEqual(countsOf(stdout));
      // What it reads depends a little on the length of paths. The README quotes the guide.
      const readOf = (text: string) => rowsOf(text).map(({ numbers }) => numbers[2]!);
      for (const [index, tokens] of readOf(stdout).entries())
        expect(Math.abs(tokens / readOf(guide)[index]! - 1), rows[index]!.key).toBeLessThan(0.05);
      const quoted = (way: string) => {
        const [turns, , read] = rowsOf(guide).find(({ key }) => key === `paginate: ${way}`)!.numbers;
        return `${turns} turns and reads ${read!.toLocaleString('en-US')} tokens`;
      };
      for (const way of ["the client's own calls", 'Volley, a program'])
        expect(readProject('README.md').replace(/\s+/g, ' ')).toContain(quoted(way));
      const numbersOf = (key: string) => rows.find((row) => row.key === key)!.numbers;
      const [turns, written, read] = numbersOf('filter and reduce: Volley, a program');
      expect([turns! <= 2, written! <= 150, read! <= 4200]).toEqual([true, true, true]);
      expect(numbersOf('filter and reduce: the same, small profile')[2]).toBeLessThanOrEqual(2400);
      const works = [...new Set(rows.map(({ key }) => key.split(':')[0]!))];
      const halved = works.filter(
        (work) =>
          2 * numbersOf(`${work}: Volley, a program`)[2]! <= numbersOf(`${work}: the client's own calls`)[2]!,
      );
      expect(halved).toHaveLength(4);
    },
  );
});

describe('the demonstration', () => {
  it('goes on with what an earlier run has left, and then analyzes only what has changed', SLOW, async () => {
    const left = ['--id', 'left', '--function', 'read_file', '--params', '{"path":"package.json"}'];
    expect(await checkout.volley(['add', '--batch', 'demo', ...left], '.')).toMatchObject({ status: 0 });
    // Other examples have analyzed some of these files.
    await checkout.volley(['cache', 'clear'], '.');
    const counts: number[] = [];
    const cached: string[] = [];
    for (const time of ['first', 'second', 'third']) {
      if (time === 'third') appendFileSync(join(checkout.folder, 'src/store/store.ts'), '// changed\n');
      const { status, stdout, stderr } = await checkout.run('examples/demo.mjs');
      expect(status, `${time} time: ${stderr}`).toBe(0);
      counts.push(Number(/^✓ demo: all (\d{2,}) tasks completed in /m.exec(stdout)?.[1]));
      cached.push(/^ {2}(.* from cache.*)$/m.exec(stdout)?.[1] ?? '');
      const path = /^Wrote (\S+\.svg)$/m.exec(stderr)?.[1];
      expect(read(path ?? 'no picture')).toContain('<title>demo');
    }
    const all = counts[1]!;
    expect(counts).toEqual([all + 1, all, all]);
    expect(cached).toEqual([
      '',
      `${all} of ${all} from cache; nothing had to run`,
      `${all - 1} of ${all} from cache`,
    ]);
  });
});

describe('all of them', () => {
  it('leave nothing behind that git would see', () => {
    const ignored = readFileSync(new URL('../../.gitignore', import.meta.url), 'utf8').split('\n');
    expect(ignored).toEqual(expect.arrayContaining(['.volley/', 'examples/*/out/']));
    const seen = checkout
      .newFiles()
      .filter((path) => !/(?:^|\/)\.volley\//.test(path) && !/^examples\/[^/]+\/out\//.test(path));
    expect(seen).toEqual([]);
  });

  it('are listed in examples/README.md with the command that runs them', () => {
    const folders = readdirSync(join(checkout.folder, 'examples'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
    const listed = folders.filter((name) => read('examples/README.md').includes(`(${name}/`));
    expect(listed).toEqual(folders.filter((name) => !['docs', 'shared'].includes(name)));
  });
});

function mean(pixels: Buffer, colour: number): number {
  let sum = 0;
  for (let at = colour; at < pixels.length; at += 3) sum += pixels[at]!;
  return sum / (pixels.length / 3);
}
