import type { Tool } from '../tool.ts';
import { codeAnalyzerTool } from './code-analyzer.ts';
import { computeTool } from './compute.ts';
import type { ToolEnvironment } from './environment.ts';
import { httpRequestTool } from './http-request.ts';
import { listDirectoryTool } from './list-directory.ts';
import { readFileTool } from './read-file.ts';
import { runProgramTool } from './run-program.ts';
import { searchFilesTool } from './search-files.ts';
import { shellTool } from './shell.ts';
import { writeFileTool } from './write-file.ts';

/** The built-in tools, and the disabled ones with how to enable them, by name. */
export interface BuiltinTools {
  readonly tools: readonly Tool[];
  readonly absent: ReadonlyMap<string, string>;
}

export function builtinTools(environment: ToolEnvironment): BuiltinTools {
  const tools: Tool[] = [
    readFileTool(environment),
    writeFileTool(environment),
    listDirectoryTool(environment),
    searchFilesTool(environment),
    codeAnalyzerTool(environment),
    computeTool(),
    runProgramTool(),
  ];
  const absent = new Map<string, string>();
  // These reach beyond the roots, so they must be enabled explicitly.
  if (environment.http.enabled) tools.push(httpRequestTool(environment));
  else absent.set('http_request', 'it is off until tools.http_request.enabled is true');
  if (environment.shell.enabled) tools.push(shellTool(environment));
  else absent.set('shell', 'it is off until tools.shell.enabled is true');
  return { tools, absent };
}
