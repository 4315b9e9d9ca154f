#!/usr/bin/env node
import { createHash, randomBytes } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import vm from 'node:vm';
import { userFolder } from '../config/user-folder.ts';
import { scriptOfModule } from './script-of-module.ts';

/**
 * The `dist/cli/main.js` of the built package. A third of the time of a short command was to compile its code, so code is
 * compiled once and kept in the user's folder. Node can do this by itself only from version 22 on, and keeps what the
 * first command happened to use; this keeps what each command uses.
 *
 * V8 compiles scripts ahead, not modules of Node 20, so the files of the command line, which are modules that the
 * library shares, are made scripts as they are read. Packages and the files of users are loaded by Node as ever.
 */

/** Identifies the bundled files. The build sets it. */
declare const BUILD: string;

/** The most files that are kept: of each command, version of Node and version of Volley. */
const MAX_FILES = 40;
/** V8 drops compiled code that is not used for some time, so after more work it knows less about the start. */
const MAX_CPU_MS = 3000;
const CHECKSUM_BYTES = 32;

type Exports = Record<string, unknown>;

type Wrapper = (
  load: (name: string) => Exports,
  importModule: (name: string) => Promise<unknown>,
  url: string,
) => Exports;

const DIST = dirname(dirname(fileURLToPath(import.meta.url)));
const requirePackage = createRequire(import.meta.url);

const modules = new Map<string, Exports>();
const scripts = new Map<string, vm.Script>();

const cacheFile = safeCacheFile();
const compiled = cacheFile === undefined ? undefined : readCache(cacheFile);
let isRejected = false;

const { runCommandLine } = load(join(DIST, 'cli/command-line.js')) as typeof import('./command-line.ts');
if (cacheFile !== undefined && (compiled === undefined || isRejected))
  process.once('exit', (status) => {
    const { user, system } = process.cpuUsage();
    if (status < 2 && (user + system) / 1000 < MAX_CPU_MS) writeCache(cacheFile);
  });
await runCommandLine();

/** Modules of the bundle never import each other in circles. */
function load(file: string): Exports {
  const known = modules.get(file);
  if (known !== undefined) return known;
  const script = new vm.Script(scriptOfModule(readFileSync(file, 'latin1')), {
    filename: file,
    cachedData: compiled?.get(file),
  });
  if (script.cachedDataRejected === true) isRejected = true;
  scripts.set(file, script);
  const folder = dirname(file);
  const loadName = (name: string): Exports =>
    name.startsWith('.') ? load(join(folder, name)) : (requirePackage(name) as Exports);
  // A script cannot import by itself. A package is required, so that there is one copy of it.
  const importModule = async (name: string): Promise<unknown> => {
    if (/^(file|data|node):/.test(name)) return import(name);
    const found = loadName(name);
    return name.startsWith('.') || 'default' in found
      ? found
      : Object.create(found, { default: { value: found } });
  };
  const exports = (script.runInThisContext() as Wrapper)(loadName, importModule, pathToFileURL(file).href);
  modules.set(file, exports);
  return exports;
}

/**
 * A program that can write there can run code as this user, so it is in Volley's own folder, which no tool can write, and never
 * in one that another user can write. Undefined if there is no such folder, or by the variable that Node has for this.
 */
function safeCacheFile(): string | undefined {
  if (process.env['NODE_DISABLE_COMPILE_CACHE'] === '1') return undefined;
  try {
    const folder = join(userFolder(), 'code-cache');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const stats = lstatSync(folder);
    const isOurs = stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & 0o022) === 0;
    if (!isOurs) return undefined;
    const [, , argument = ''] = process.argv;
    const command = /^[a-z][a-z-]{0,30}$/.test(argument) ? argument : 'volley';
    return join(folder, `${command}-${process.version}-${process.arch}-${BUILD}`);
  } catch {
    // Without a home folder that can be written, it only starts more slowly.
    return undefined;
  }
}

/** Compiled code by file. Undefined if there is none, or if it is damaged, which V8 does not check. */
function readCache(file: string): ReadonlyMap<string, Buffer> | undefined {
  try {
    const bytes = readFileSync(file);
    const content = bytes.subarray(CHECKSUM_BYTES);
    if (!checksum(content).equals(bytes.subarray(0, CHECKSUM_BYTES))) return undefined;
    const listEnd = content.indexOf('\n');
    const found = new Map<string, Buffer>();
    let at = listEnd + 1;
    for (const [name, size] of JSON.parse(content.toString('utf8', 0, listEnd)) as [string, number][]) {
      found.set(join(DIST, name), content.subarray(at, at + size));
      at += size;
    }
    return found;
  } catch {
    return undefined;
  }
}

function writeCache(file: string): void {
  try {
    const parts = [...scripts].map(([name, script]) => [name, script.createCachedData()] as const);
    const list = parts.map(([name, data]) => [relative(DIST, name), data.length]);
    const content = Buffer.concat([
      Buffer.from(`${JSON.stringify(list)}\n`),
      ...parts.map(([, data]) => data),
    ]);
    const draft = `${file}.${randomBytes(4).toString('hex')}`;
    writeFileSync(draft, Buffer.concat([checksum(content), content]), { mode: 0o600, flag: 'wx' });
    renameSync(draft, file);
    removeOldest(dirname(file));
  } catch {
    // The next start compiles again.
  }
}

function removeOldest(folder: string): void {
  const files = readdirSync(folder).map((name) => join(folder, name));
  if (files.length <= MAX_FILES) return;
  const byAge = files.map((file) => ({ file, at: statSync(file).mtimeMs })).sort((a, b) => b.at - a.at);
  for (const { file } of byAge.slice(MAX_FILES)) rmSync(file, { force: true });
}

function checksum(content: Buffer): Buffer {
  return createHash('sha256').update(content).digest();
}
