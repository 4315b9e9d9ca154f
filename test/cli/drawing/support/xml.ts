import { expect } from 'vitest';

/** Checks that a text is well-formed XML: elements are closed in order, and no sign is left that XML does not allow. */
export function checkXml(text: string): void {
  const open: string[] = [];
  const rest = text.replace(
    /<(\/?)([A-Za-z]+)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>/g,
    (_all, end, name, _attributes, self) => {
      if (end === '/') expect(open.pop()).toBe(name);
      else if (self !== '/') open.push(name);
      return '';
    },
  );
  expect(open).toEqual([]);
  expect(rest).not.toMatch(/<|&(?!(?:amp|lt|gt|quot);)/);
  expect(text).not.toMatch(/[^\P{Cc}\n]|[\ufffe\uffff]/u);
  expect(Buffer.from(text).toString()).toBe(text);
  expect(text).not.toMatch(/NaN|undefined|Infinity/);
}
