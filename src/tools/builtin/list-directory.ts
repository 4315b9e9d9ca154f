import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { defineTool } from '../define-tool.ts';
import type { Tool } from '../tool.ts';
import type { ToolEnvironment } from './environment.ts';
import { ENTRY_TYPES, Folder } from './folder.ts';
import { GLOB, PATH } from './input-fields.ts';
import { fileFailure } from './refusal.ts';
import { Roots } from './roots.ts';
import { FolderWalk, MAX_DEPTH, pathMatcher, type WalkEntry } from './walk.ts';

const INPUT = z.strictObject({
  path: PATH.default('.').describe('The folder to list, relative to the working folder or absolute.'),
  recursive: z.boolean().default(false).describe('Whether to list subfolders too.'),
  depth: z
    .int()
    .min(1)
    .max(MAX_DEPTH)
    .optional()
    .describe(`How many levels to list with recursive; 1 is only the folder itself. Default ${MAX_DEPTH}.`),
  glob: GLOB.optional().describe(
    'Only matching entries: "*.ts" by name at any depth, "src/**/*.ts" by the path from the listed folder.',
  ),
});

type ListDirectoryInput = z.infer<typeof INPUT>;

const ENTRY = z.object({
  path: z.string().describe('Begins with the path of the listed folder.'),
  type: z.enum(ENTRY_TYPES),
  size: z.number().exactOptional().describe('The size of a file in bytes.'),
});

const OUTPUT = z.object({
  path: z.string(),
  entries: z.array(ENTRY),
  truncated: z.boolean().describe('Whether a limit truncated the list.'),
  unreadable: z.number().describe('The number of folders inside that could not be opened.'),
});

type ListedEntry = z.infer<typeof ENTRY>;
type ListDirectoryResult = z.infer<typeof OUTPUT>;

/** Lists a folder. Takes no lock: files are replaced atomically, so none is ever half written. */
export function listDirectoryTool(
  environment: ToolEnvironment,
  roots = new Roots(environment.roots, undefined, environment.protection),
): Tool<ListDirectoryInput, ListDirectoryResult> {
  const { maxEntries } = environment.files;
  return defineTool<ListDirectoryInput, ListDirectoryResult>({
    name: 'list_directory',
    description: `Lists a folder: path, type and size of each entry, sorted by name, at most ${maxEntries}. Symbolic links are not followed.`,
    input: INPUT,
    output: OUTPUT,
    readOnly: true,
    resources: ({ recursive }) => ({
      cpu: recursive ? 0.3 : 0.1,
      memoryMb: 20 + Math.ceil(maxEntries / 2000),
      io: recursive ? 'medium' : 'low',
    }),
    run: async (input, { signal }) => {
      try {
        return await list(input, roots, maxEntries, signal);
      } catch (error) {
        throw fileFailure('list', input.path, error);
      }
    },
  });
}

async function list(
  { path, recursive, depth, glob }: ListDirectoryInput,
  roots: Roots,
  maxEntries: number,
  signal: AbortSignal,
): Promise<ListDirectoryResult> {
  const matches = glob === undefined ? () => true : pathMatcher(glob);
  const folder = await Folder.open(roots, path);
  try {
    const walk = new FolderWalk(recursive ? (depth ?? MAX_DEPTH) : 1, () => true, signal);
    const entries: ListedEntry[] = [];
    let isFull = false;
    for await (const entry of walk.through(folder)) {
      if (!matches(entry.path, entry.name)) continue;
      isFull = entries.length === maxEntries;
      if (isFull) break;
      entries.push({ path: join(path, entry.path), ...(await describe(entry)) });
    }
    return { path, entries, truncated: isFull || walk.isCut, unreadable: walk.unreadable };
  } finally {
    await folder.close();
  }
}

async function describe({ name, type, folder }: WalkEntry): Promise<Omit<ListedEntry, 'path'>> {
  if (type !== 'file') return { type };
  // It may be gone since its name was read; it existed when the folder was read.
  const stats = await lstat(folder.pathTo(name)).catch(() => undefined);
  return { type, ...(stats !== undefined && { size: stats.size }) };
}
