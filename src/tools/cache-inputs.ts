import { nearest } from '../core/nearest.ts';
import { show } from '../core/numbers.ts';
import { isObject, isThenable } from '../core/values.ts';
import type { CacheInputs, FileUse, FolderInput } from './tool.ts';

const FIELDS: ReadonlySet<string> = new Set<keyof CacheInputs>(['files', 'folders', 'version']);
const FOLDER_FIELDS: ReadonlySet<string> = new Set<keyof FolderInput>([
  'path',
  'glob',
  'depth',
  'skip',
  'reads',
]);
const FILE_FIELDS: ReadonlySet<string> = new Set<keyof FileUse>(['inputs', 'outputs']);
const READS: readonly unknown[] = [undefined, 'names', 'sizes', 'contents'];
const EXAMPLE = '{ files: ["data.json"] }';

/** What is wrong with the inputs that a tool declares, if anything. */
export function cacheProblem(inputs: unknown): string | undefined {
  // The fields of a promise would be those of inputs that are empty.
  if (!isObject(inputs) || isThenable(inputs))
    return `cache must be an object such as ${EXAMPLE}, or a function that returns one, but it is ${show(inputs)}`;
  const { files, folders, version } = inputs as Partial<Record<keyof CacheInputs, unknown>>;
  if (files !== undefined && !isTexts(files))
    return `cache.files must be a list of paths, such as ${EXAMPLE}`;
  if (version !== undefined && typeof version !== 'string')
    return `cache.version must be a string, but it is ${show(version)}`;
  if (folders !== undefined && !Array.isArray(folders))
    return 'cache.folders must be a list such as [{ path: "src", glob: "*.ts" }]';
  for (const folder of (folders as unknown[] | undefined) ?? []) {
    const problem = folderProblem(folder);
    if (problem !== undefined) return problem;
  }
  return unknownField('cache', inputs, FIELDS);
}

/** What is wrong with the files that a tool declares, if anything. */
export function filesProblem(files: unknown): string | undefined {
  if (!isObject(files) || isThenable(files))
    return `files must be an object such as { inputs: ${EXAMPLE}, outputs: ["out.png"] }, or a function that returns one, but it is ${show(files)}`;
  const { inputs, outputs } = files as Partial<Record<keyof FileUse, unknown>>;
  if (outputs !== undefined && !isTexts(outputs))
    return 'files.outputs must be a list of paths, such as ["out.png"]';
  return (
    (inputs === undefined ? undefined : cacheProblem(inputs)) ?? unknownField('files', files, FILE_FIELDS)
  );
}

function folderProblem(folder: unknown): string | undefined {
  const { path, glob, depth, skip, reads } = Object(folder) as Partial<Record<keyof FolderInput, unknown>>;
  if (!isText(path)) return 'each of cache.folders must be an object such as { path: "src", glob: "*.ts" }';
  if (glob !== undefined && !isText(glob))
    return `glob in cache.folders must be a string, but it is ${show(glob)}`;
  if (depth !== undefined && !(Number.isInteger(depth) && (depth as number) >= 1))
    return `depth in cache.folders must be a whole number from 1, but it is ${show(depth)}`;
  if (skip !== undefined && !isTexts(skip)) return 'skip in cache.folders must be a list of names of folders';
  if (!READS.includes(reads))
    return `reads in cache.folders must be "names", "sizes" or "contents", but it is ${show(reads)}`;
  return unknownField('cache.folders', folder as object, FOLDER_FIELDS);
}

function unknownField(where: string, value: object, known: ReadonlySet<string>): string | undefined {
  const field = Object.keys(value).find((one) => !known.has(one));
  if (field === undefined) return undefined;
  const close = nearest(field, known);
  return `"${field}" is not a field of ${where}${close === undefined ? '' : `; did you mean "${close}"?`}`;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(isText);
}
