import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { AgentAdapter, AgentReader, AgentTask } from './adapter.ts';
import { asCount, asFields, asString, jsonReader, shownText, textEvents, toolEvent } from './agent-output.ts';
import { withVolleyCommands } from './user-settings.ts';

/**
 * opencode. Several that share its database die of its locks, so each gets one of its own; the login stays where it is.
 * Snapshots, which would be taken of one tree by all at once, are left out: the work is looked at by its content anyway.
 */
export const opencodeAdapter: AgentAdapter = {
  name: 'opencode',
  command: async (task) => ({
    argv: [
      'opencode',
      'run',
      '--format',
      'json',
      ...(task.model === undefined ? [] : ['--model', task.model]),
    ],
    env: {
      OPENCODE_DB: join(task.stateFolder, 'opencode.db'),
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        ...inlineConfig(task.env),
        snapshot: false,
        autoupdate: false,
      }),
      OPENCODE_PERMISSION: JSON.stringify(permissions(task)),
    },
    input: task.prompt,
  }),
  reader: opencodeReader,
};

/** The last rule that matches counts. What would have to be asked is refused when nobody is there to ask. */
function permissions({ cwd, deniedPaths, allowedCommands }: AgentTask): object {
  const below = relative(rootOf(cwd), cwd);
  const denied = deniedPaths.flatMap((glob) => patterns(below, glob)).map((pattern) => [pattern, 'deny']);
  const allowed = withVolleyCommands(allowedCommands ?? []).map((command) => [`${command}*`, 'allow']);
  return {
    edit: Object.fromEntries([['*', 'allow'], ...denied]),
    bash: allowedCommands === undefined ? 'allow' : Object.fromEntries([['*', 'deny'], ...allowed]),
  };
}

/** Its `*` matches slashes too, and its `**` is no different: a leading one would leave out the folder itself. */
function patterns(below: string, glob: string): readonly string[] {
  const globs = glob.startsWith('**/') ? [glob, glob.slice(3)] : [glob];
  return globs.map((pattern) => join(below, pattern).replaceAll('\\', '/'));
}

/** Where its paths count from: the repository, or else the root of the file system. */
function rootOf(folder: string): string {
  const above = dirname(folder);
  return above === folder || existsSync(join(folder, '.git')) ? folder : rootOf(above);
}

function inlineConfig(env: AgentTask['env']): object {
  try {
    const config: unknown = JSON.parse(env['OPENCODE_CONFIG_CONTENT'] ?? '');
    return typeof config === 'object' && config !== null ? config : {};
  } catch {
    return {};
  }
}

/** Reads `opencode run --format json`. It has no event for its end: without an error its last text is the result. */
export function opencodeReader(): AgentReader {
  let turns = 0;
  let inputTokens = 0;
  let outputTokens = 0;
  let costUsd = 0;
  let lastWord = '';
  let error: string | undefined;

  return jsonReader(
    (fields) => {
      const part = asFields(fields['part']);
      switch (fields['type']) {
        case 'text':
          lastWord = shownText(asString(part['text'])) || lastWord;
          return textEvents(part['text']);
        case 'tool_use':
          return [toolEvent(part['tool'], asFields(part['state'])['input'])];
        case 'step_finish': {
          const tokens = asFields(part['tokens']);
          const cache = asFields(tokens['cache']);
          turns += 1;
          inputTokens += asCount(tokens['input']) + asCount(cache['read']) + asCount(cache['write']);
          outputTokens += asCount(tokens['output']) + asCount(tokens['reasoning']);
          costUsd += asCount(part['cost']);
          return [{ type: 'usage', turns, inputTokens, outputTokens, costUsd }];
        }
        case 'error': {
          const { name, data } = asFields(fields['error']);
          error = shownText(asString(asFields(data)['message']) || asString(name)) || 'an error';
          return textEvents(error);
        }
        default:
          return [];
      }
    },
    () =>
      turns === 0 && error === undefined
        ? []
        : [{ type: 'result', ok: error === undefined, text: error ?? lastWord }],
  );
}
