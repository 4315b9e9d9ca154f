import { stringify } from 'smol-toml';
import type { AgentTask } from './adapter.ts';
import { withOwnCommands } from './own-commands.ts';

const EDITING_TOOLS = ['write_file', 'replace'];
/** Above the rules that a mode brings along. */
const ALLOWED = 500;
const DENIED = 900;
const PIECES = /\*\*\/|\*+|\?|[^*?]+/g;

/** The rules of Gemini CLI for what a task may touch and run. */
export function geminiPolicy({ cwd, deniedPaths, allowedCommands }: AgentTask): string {
  const denied = deniedPaths.map((glob) => ({
    toolName: EDITING_TOOLS,
    argsPattern: `"file_path":"(|\\./|${escaped(cwd)}/)${pathPattern(glob)}"`,
    decision: 'deny',
    priority: DENIED,
  }));
  const allowed = allowedCommands === undefined ? [] : withOwnCommands(allowedCommands);
  const commands = allowed.map((command) => ({
    toolName: 'run_shell_command',
    commandPrefix: command,
    decision: 'allow',
    priority: ALLOWED,
  }));
  return stringify({ rule: [...denied, ...commands] });
}

/** A glob as it stands in JSON. Gemini CLI refuses groups that may be repeated or left out, as picomatch makes them. */
function pathPattern(glob: string): string {
  const piece = (text: string): string => {
    if (text === '**/') return '(|[^"]*/)';
    if (text.startsWith('**')) return '[^"]*';
    if (text === '*') return '[^"/]*';
    return text === '?' ? '[^"/]' : escaped(text);
  };
  return (glob.match(PIECES) ?? []).map(piece).join('');
}

function escaped(text: string): string {
  return JSON.stringify(text)
    .slice(1, -1)
    .replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
