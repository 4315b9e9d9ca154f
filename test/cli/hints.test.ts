import { describe, expect, it } from 'vitest';
import { HINTS, type HintName, hintText } from '../../src/batch/hints.ts';
import { rewriteAnswer } from '../../src/cli/output/wording.ts';

describe('rewriteAnswer', () => {
  it.each(Object.keys(HINTS) as HintName[])('replaces the hint %s by commands and options', (name) => {
    const text = `It has 1 task. ${hintText(name, 7)}\nThe end.`;
    const shown = rewriteAnswer(text, { batch: 'audit' }, { env: {} });
    expect(shown).not.toContain(hintText(name, 7));
    expect(shown).not.toMatch(/[{}"]/);
    expect(shown.includes('7')).toBe(text.includes('7'));
    expect(shown).toMatch(/^It has 1 task\. .+\nThe end\.$/);
  });

  it('leaves a hint within a line, and everything else, as it is', () => {
    const text = `The tool wrote: ${hintText('retry')} Then it failed.`;
    expect(rewriteAnswer(text, {}, { env: {} })).toBe(text);
  });
});
