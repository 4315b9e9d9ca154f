import { join } from 'node:path';
import { z } from 'zod';
import { defineTool } from '../define-tool.ts';
import { linearRegex } from '../pattern/regex.ts';
import type { Tool } from '../tool.ts';
import type { ToolEnvironment } from './environment.ts';
import { Folder } from './folder.ts';
import { GLOB, MAX_PATTERN_LENGTH, PATH, patternProblem } from './input-fields.ts';
import { memoryForMb } from './needs.ts';
import { fileFailure } from './refusal.ts';
import { Roots } from './roots.ts';
import { TEXT_MATCH, TextSearch } from './text-search.ts';
import { FolderWalk, isPassedOver, MAX_DEPTH, pathMatcher } from './walk.ts';

/** Folders with third-party files; they are searched only on request. */
const PASSED_FOLDERS: ReadonlySet<string> = new Set(['.git', 'node_modules']);

const INPUT = z
  .strictObject({
    pattern: GLOB.default('**').describe(
      'Which files: "*.ts" by name at any depth, "src/**/*.ts" by the path from the searched folder.',
    ),
    path: PATH.default('.').describe('The folder to search, relative to the working folder or absolute.'),
    text: z
      .string()
      .min(1)
      .max(MAX_PATTERN_LENGTH)
      .optional()
      .describe('The text that a line must contain. Without it, the result is the matching files.'),
    is_regex: z
      .boolean()
      .default(false)
      .describe(
        'Whether text is a regular expression: JavaScript syntax without look-around and back-references.',
      ),
    case_sensitive: z.boolean().default(true).describe('Whether upper and lower case differ.'),
    context: z
      .int()
      .min(0)
      .max(10)
      .default(0)
      .describe('How many lines before and after each match to show.'),
    include_all: z.boolean().default(false).describe('Whether .git and node_modules are searched too.'),
  })
  .superRefine(({ text, is_regex, case_sensitive }, check) => {
    if (text === undefined || !is_regex) return;
    const problem = patternProblem(() => linearRegex(text, !case_sensitive));
    if (problem !== undefined) check.addIssue({ code: 'custom', path: ['text'], message: problem });
  });

type SearchFilesInput = z.infer<typeof INPUT>;

const OUTPUT = z.object({
  path: z.string(),
  files: z.array(z.string()).describe('The matching files, beginning with the path of the searched folder.'),
  matches: z.array(TEXT_MATCH).exactOptional().describe('The matching lines, in a text search.'),
  files_searched: z.number().exactOptional(),
  files_skipped: z.number().exactOptional().describe('Binary files, and files that could not be opened.'),
  truncated: z
    .boolean()
    .describe('Whether a limit (results, bytes read, entries inspected) stopped it early.'),
});

type SearchFilesResult = z.infer<typeof OUTPUT>;

/** Finds files by name and lines by text. Takes no lock, like a listing. */
export function searchFilesTool(
  environment: ToolEnvironment,
  roots = new Roots(environment.roots, undefined, environment.protection),
): Tool<SearchFilesInput, SearchFilesResult> {
  const { maxEntries, maxBytes } = environment.files;
  return defineTool<SearchFilesInput, SearchFilesResult>({
    name: 'search_files',
    description: `Finds files by glob, and the lines in them that contain a text or match a regular expression: at most ${maxEntries} results. Binary files, .git and node_modules are skipped; symbolic links are not followed.`,
    input: INPUT,
    output: OUTPUT,
    readOnly: true,
    resources: ({ text }) => ({
      cpu: text === undefined ? 0.3 : 1,
      memoryMb: 20 + memoryForMb(maxBytes),
      io: text === undefined ? 'medium' : 'high',
    }),
    run: async (input, { signal }) => {
      try {
        return await search(input, roots, environment, signal);
      } catch (error) {
        throw fileFailure('search', input.path, error);
      }
    },
  });
}

async function search(
  input: SearchFilesInput,
  roots: Roots,
  { files: { maxEntries, maxBytes } }: ToolEnvironment,
  signal: AbortSignal,
): Promise<SearchFilesResult> {
  const isWanted = pathMatcher(input.pattern);
  const walk = new FolderWalk(MAX_DEPTH, (name) => input.include_all || !PASSED_FOLDERS.has(name), signal);
  const texts =
    input.text === undefined
      ? undefined
      : new TextSearch(lineTest(input, input.text), input.context, { maxEntries, maxBytes });
  const files: string[] = [];
  let isFull = false;
  let skipped = 0;
  const folder = await Folder.open(roots, input.path);
  try {
    for await (const { path: inside, name, type, folder: parent } of walk.through(folder)) {
      if (type !== 'file' || !isWanted(inside, name)) continue;
      const path = join(input.path, inside);
      isFull = texts === undefined ? files.length === maxEntries : texts.isCut;
      if (isFull) break;
      if (texts === undefined) files.push(path);
      else {
        const found = await searchFile(texts, parent, name, path, signal);
        if (found === 'skipped') skipped++;
        else if (found === 'found') files.push(path);
      }
    }
  } finally {
    await folder.close();
  }
  const truncated = isFull || walk.isCut || texts?.isCut === true;
  if (texts === undefined) return { path: input.path, files, truncated };
  const { matches, searched } = texts;
  return { path: input.path, files, matches, files_searched: searched, files_skipped: skipped, truncated };
}

async function searchFile(
  texts: TextSearch,
  folder: Folder,
  name: string,
  path: string,
  signal: AbortSignal,
): Promise<'found' | 'nothing' | 'skipped'> {
  const file = await folder.openFile(name).catch((error: unknown) => {
    if (!isPassedOver(error)) throw error;
    return undefined;
  });
  if (file === undefined) return 'skipped';
  try {
    return await texts.search(file.handle, path, signal);
  } finally {
    await file.handle.close();
  }
}

function lineTest({ is_regex, case_sensitive }: SearchFilesInput, text: string): (line: string) => boolean {
  if (is_regex) {
    const matcher = linearRegex(text, !case_sensitive);
    return (line) => matcher.test(line);
  }
  if (case_sensitive) return (line) => line.includes(text);
  const lower = text.toLowerCase();
  return (line) => line.toLowerCase().includes(lower);
}
