import { checkKnown } from '../../core/check-known.ts';
import { checkBoolean, checkObject } from '../../core/numbers.ts';
import type { Tool } from '../tool.ts';
import { codeAnalyzerTool } from './code-analyzer.ts';
import { computeTool } from './compute.ts';
import type { ToolEnvironment, ToolSet } from './environment.ts';
import { httpRequestTool } from './http-request.ts';
import { listDirectoryTool } from './list-directory.ts';
import { readFileTool } from './read-file.ts';
import { runProgramTool } from './run-program.ts';
import { searchFilesTool } from './search-files.ts';
import { shellTool } from './shell.ts';
import { writeFileTool } from './write-file.ts';

/** Options of {@link builtinTools}. */
export interface BuiltinToolOptions {
  /** Whether tools that can change files are included: `write_file`, and `shell` if it is enabled. Default true. */
  readonly write?: boolean;
}

const READ_ONLY = 'only tools that change nothing are registered (builtinTools({ write: false }))';
const OPTIONS: ReadonlySet<string> = new Set<keyof BuiltinToolOptions>(['write']);

/**
 * The built-in tools, for `register()` of a coordinator. They work within its roots and limits; `http_request` and
 * `shell` are included only if its configuration enables them.
 *
 * ```ts
 * coordinator.register(builtinTools({ write: false }));
 * ```
 */
export function builtinTools(options: BuiltinToolOptions = {}): ToolSet {
  checkObject('The options of builtinTools', options);
  checkKnown('option of builtinTools', options, OPTIONS);
  const { write = true } = options;
  checkBoolean('write', write);
  return { toolsFor: (environment) => toolsFor(environment, write) };
}

function toolsFor(environment: ToolEnvironment, write: boolean): ReturnType<ToolSet['toolsFor']> {
  const tools: Tool[] = [
    readFileTool(environment),
    listDirectoryTool(environment),
    searchFilesTool(environment),
    codeAnalyzerTool(environment),
    computeTool(),
    runProgramTool(),
  ];
  const absent = new Map<string, string>();
  if (write) tools.push(writeFileTool(environment));
  else absent.set('write_file', READ_ONLY);
  // These reach beyond the roots, so they must be enabled explicitly.
  if (environment.http.enabled) tools.push(httpRequestTool(environment));
  else absent.set('http_request', 'it is off until tools.http_request.enabled is true');
  if (!write) absent.set('shell', READ_ONLY);
  else if (environment.shell.enabled) tools.push(shellTool(environment));
  else absent.set('shell', 'it is off until tools.shell.enabled is true');
  return { tools, absent };
}
