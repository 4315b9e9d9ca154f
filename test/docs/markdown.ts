import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A code block: the language, the `key=value` words behind it, and the text. */
interface CodeBlock {
  readonly where: string;
  readonly language: string;
  readonly options: ReadonlyMap<string, string>;
  readonly text: string;
}

export interface Page {
  /** Relative to the root, with slashes. */
  readonly path: string;
  readonly codeBlocks: readonly CodeBlock[];
  /** The targets of its links, but for those that lead out of the project. */
  readonly links: readonly string[];
  /** What a link may name behind `#`, as GitHub makes it from the headings. */
  readonly anchors: ReadonlySet<string>;
}

/** The pages that people write: those of the root, of `docs`, `bench` and `examples`. */
export function pages(): Page[] {
  return ['.', 'docs', 'bench', 'examples']
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder)).map((name) => (folder === '.' ? name : `${folder}/${name}`)),
    )
    .filter((path) => path.endsWith('.md'))
    .map(readPage);
}

function readPage(path: string): Page {
  const codeBlocks: CodeBlock[] = [];
  const prose = read(path).replace(
    /^```(.*)\n([\s\S]*?)^```$/gm,
    (_, info: string, text: string, at: number, whole: string) => {
      const [language = '', ...words] = info.trim().split(/\s+/);
      const options = new Map(words.map((word) => word.split('=', 2) as [string, string]));
      codeBlocks.push({ where: `${path}:${lineAt(whole, at)}`, language, options, text });
      return '';
    },
  );
  const links = [...prose.matchAll(/(?:\]\(|<img src=")([^)"\s]+)[)"]/g)].map((match) => match[1]!);
  const headings = [...prose.matchAll(/^#+ (.+)$/gm)].map((match) => match[1]!);
  return {
    path,
    codeBlocks,
    links: links.filter((link) => !/^[a-z]+:/.test(link)),
    anchors: new Set(headings.map(anchorOf)),
  };
}

export function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8').replaceAll('\r\n', '\n');
}

function lineAt(text: string, position: number): number {
  return text.slice(0, position).split('\n').length;
}

function anchorOf(heading: string): string {
  const text = heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .trim()
    .toLowerCase();
  return text.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(/\s/g, '-');
}
