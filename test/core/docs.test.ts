import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { errorsPage } from '../../scripts/generate-errors.ts';
import { statesPage } from '../../scripts/generate-states.ts';
import { ERROR_CODES } from '../../src/core/errors.ts';
import { TRANSITIONS } from '../../src/core/status.ts';

const page = (name: string) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');

describe('a generated page is up to date', () => {
  it('docs/states.md: if this fails, run npx tsx scripts/generate-states.ts', () => {
    expect(page('states.md')).toBe(statesPage());
  });

  it('docs/errors.md: if this fails, run npx tsx scripts/generate-errors.ts', () => {
    expect(page('errors.md')).toBe(errorsPage());
  });
});

describe('a generated page is complete', () => {
  it('has an arrow for every transition', () => {
    for (const { from, to, when } of TRANSITIONS)
      expect(page('states.md')).toContain(`${from} --> ${to}: ${when}\n`);
  });

  it('has a heading and a remedy for every error code', () => {
    const sections = page('errors.md').split('\n## ').slice(1);
    expect(sections.map((section) => section.split('\n')[0])).toEqual(Object.keys(ERROR_CODES));
    for (const section of sections) expect(section).toContain('**What to do:** ');
  });
});
