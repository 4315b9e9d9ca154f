import { printableLine } from '../../core/printable-text.ts';
import { numberText } from '../output/numbers.ts';
import { cutMiddleToWidth, cutStartToWidth, textWidth } from '../output/text-layout.ts';
import { type FinishedTask, STATUS_ORDER } from './task-graph.ts';

/** Escapes text for an element or an attribute: one line, and only what XML allows. */
export function xml(text: string): string {
  return printableLine(text)
    .replace(/[\ufffe\uffff]/g, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** The mean width of a letter relative to the font size; a little more, since no text is measured. */
const LETTER_WIDTH = 0.58;
/** With less room, only the end is shown. */
const MIN_LETTERS_FOR_BOTH_ENDS = 16;

/** The approximate width of drawn text. */
export function drawnWidth(text: string, fontSize: number): number {
  return textWidth(text) * fontSize * LETTER_WIDTH;
}

/** Shortens a name to the room. Keeps the end, since names of a batch often begin alike. Empty if too short to help. */
export function fitName(name: string, room: number, fontSize: number, shortest = 6): string {
  const letters = Math.floor(room / (fontSize * LETTER_WIDTH));
  const plain = printableLine(name);
  if (textWidth(plain) <= letters) return plain;
  if (letters < shortest) return '';
  const tail = tailOfPath(plain, letters);
  if (tail !== undefined) return tail;
  const last = plain.slice(Math.max(plain.lastIndexOf('/'), plain.lastIndexOf(' ')) + 1);
  const width = textWidth(last);
  if (width < letters && width >= letters / 2) return `…${last}`;
  return letters < MIN_LETTERS_FOR_BOTH_ENDS
    ? cutStartToWidth(plain, letters)
    : cutMiddleToWidth(plain, letters);
}

/** As many of the last parts of a path as fit. */
function tailOfPath(path: string, letters: number): string | undefined {
  for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1)) {
    const tail = `…${path.slice(slash)}`;
    if (textWidth(tail) <= letters) return tail;
  }
  return undefined;
}

/** Rounds a coordinate. */
export function px(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** Light and dark. Plain rules, since not every viewer supports variables. */
const STYLE = `
  text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;fill:#1f2933}
  .page{fill:#ffffff} .title{font-size:16px;font-weight:600} .small{font-size:12px;fill:#616e7c}
  .line{stroke:#e4e7eb;stroke-width:1} .band{fill:#f5f7fa} .inside{fill:#ffffff}
  .completed{fill:#2a8f7f} .failed{fill:#d1383d} .cancelled{fill:#c77d0a} .skipped{fill:#9aa5b1}
  .running{fill:#3b76c4} .open{fill:#cbd2d9}
  .card{fill:#ffffff;stroke:#9aa5b1;stroke-width:1} .edge{fill:none;stroke:#9aa5b1;stroke-width:1.2}
  .bad{stroke:#d1383d;stroke-dasharray:4 3} .tip{fill:#9aa5b1} .badtip{fill:#d1383d}
  @media (prefers-color-scheme:dark){
    text{fill:#e4e7eb} .page{fill:#14181d} .small{fill:#9aa5b1}
    .line{stroke:#2b333c} .band{fill:#1a1f26} .inside{fill:#ffffff}
    .completed{fill:#23776a} .failed{fill:#c8383d} .cancelled{fill:#a86a0b} .skipped{fill:#616e7c}
    .running{fill:#3568ab} .open{fill:#3e4c59}
    .card{fill:#1f262e;stroke:#616e7c} .edge{stroke:#7b8794} .bad{stroke:#e66a6e} .tip{fill:#7b8794} .badtip{fill:#e66a6e}
  }`;

export function svgDocument(
  width: number,
  height: number,
  title: string,
  content: readonly string[],
): string {
  const [w, h] = [px(width), px(height)];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}" role="img">`,
    `<title>${xml(title)}</title>`,
    `<style>${STYLE}</style>`,
    `<rect class="page" width="${w}" height="${h}"/>`,
    ...content,
    '</svg>',
    '',
  ].join('\n');
}

/** `y` is the baseline. */
export function svgText(x: number, y: number, text: string, attributes = ''): string {
  return `<text x="${px(x)}" y="${px(y)}"${attributes === '' ? '' : ` ${attributes}`}>${xml(text)}</text>`;
}

const FONT = 12;

/** The color and the count of each status. */
export function legend(tasks: readonly FinishedTask[], x: number, y: number): string[] {
  const counts = new Map<string, number>();
  for (const { status } of tasks) counts.set(status, (counts.get(status) ?? 0) + 1);
  const parts: string[] = [];
  for (const status of STATUS_ORDER) {
    const count = counts.get(status);
    if (count === undefined) continue;
    const text = `${numberText(count)} ${status === 'open' ? 'not started' : status}`;
    parts.push(`<rect class="${status}" x="${px(x)}" y="${px(y - 10)}" width="11" height="11" rx="2"/>`);
    parts.push(svgText(x + 17, y, text, 'class="small"'));
    x += 17 + drawnWidth(text, FONT) + 22;
  }
  return parts;
}
