/** `a, b` as a list; commas inside braces belong to a glob, and ticks around a path do not belong to it. */
export function splitList(text: string): string[] {
  const items: string[] = [];
  let depth = 0;
  let item = '';
  for (const sign of text) {
    if (sign === '{') depth++;
    if (sign === '}') depth--;
    if (sign === ',' && depth <= 0) {
      items.push(item);
      item = '';
    } else item += sign;
  }
  return [...items, item].map(withoutTicks).filter((one) => one !== '');
}

export function withoutTicks(text: string): string {
  return text.trim().replace(/^`([^`]*)`$/, '$1');
}
