import { afterAll, describe, expect, it } from 'vitest';
import { Checkout } from '../e2e/support/checkout.ts';
import { pages } from './markdown.ts';
import { exampleFiles, regionsOf } from './regions.ts';

/** Starting Node takes its time where much else runs. */
const SLOW = { timeout: 300_000 };

const checkout = new Checkout();
afterAll(() => checkout.remove());

const blocks = pages().flatMap(({ codeBlocks }) => codeBlocks);
const snippets = blocks.filter(({ language }) => /^(ts|typescript|js|javascript)$/.test(language));
const printed = blocks.filter(({ options }) => options.has('output'));

describe('a TypeScript block of the docs', () => {
  it.each(snippets)(
    'shows a region of a type-checked example, word for word: $where',
    ({ options, text }) => {
      const file = options.get('file') ?? 'no file= behind ```ts';
      expect(exampleFiles()).toContain(file);
      expect(text).toBe(regionsOf(file).get(options.get('region') ?? ''));
    },
  );
});

describe.concurrent('an example of the docs', () => {
  it.each(exampleFiles())('runs to its end and prints what the docs say: %s', SLOW, async (file) => {
    const { status, stdout, stderr } = await checkout.run(await checkout.compile(file));
    expect(status, stderr).toBe(0);
    for (const { options, text } of printed)
      if (options.get('output') === file) expect(stdout).toContain(text);
  });

  it.each(exampleFiles())('is shown in full, region by region: %s', (file) => {
    const shown = snippets
      .filter(({ options }) => options.get('file') === file)
      .map(({ options }) => options.get('region'));
    expect([...regionsOf(file).keys()].filter((region) => !shown.includes(region))).toEqual([]);
  });
});

describe('an output in the docs', () => {
  it.each(printed)('belongs to an example: $where', ({ options }) => {
    expect(exampleFiles()).toContain(options.get('output'));
  });
});
