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

  it('wraps a hint on a narrow terminal, and nothing else', () => {
    const long = 'a long line of a result that stays as it is, however narrow the terminal may be';
    const shown = rewriteAnswer(`${long}\n${hintText('retryFailed')}`, { batch: 'audit' }, { env: {} }, 40);
    const [first, ...rest] = shown.split('\n');
    expect(first).toBe(long);
    expect(rest.length).toBeGreaterThan(1);
    for (const line of rest) expect(line.length).toBeLessThanOrEqual(40);
  });

  it('leaves a hint within a line, and everything else, as it is', () => {
    const text = `The tool wrote: ${hintText('retry')} Then it failed.`;
    expect(rewriteAnswer(text, {}, { env: {} })).toBe(text);
  });
});
