import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { AgentAdapter, AgentEvent, AgentReader, AgentTask } from './adapter.ts';
import {
  answerText,
  asCount,
  asFields,
  asString,
  type JsonFields,
  jsonReader,
  outputEvent,
  shownText,
  textEvents,
  toolEvent,
} from './agent-output.ts';
import { withVolleyCommands } from './user-settings.ts';

/**
 * opencode. Each process gets its own database, since a shared one fails on its locks; the login is shared. Snapshots are
 * off: all processes would take them of the same tree, and Volley compares contents itself.
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

/** The last matching rule wins. Unattended, anything that needs confirmation is refused. */
function permissions({ cwd, writes, deniedPaths, allowedCommands }: AgentTask): object {
  if (!writes) return { edit: 'deny', bash: 'deny' };
  const below = relative(rootOf(cwd), cwd);
  const denied = deniedPaths.flatMap((glob) => patterns(below, glob)).map((pattern) => [pattern, 'deny']);
  const allowed = withVolleyCommands(allowedCommands ?? []).map((command) => [`${command}*`, 'allow']);
  return {
    edit: Object.fromEntries([['*', 'allow'], ...denied]),
    bash: allowedCommands === undefined ? 'allow' : Object.fromEntries([['*', 'deny'], ...allowed]),
  };
}

/** Its `*` and `**` both match slashes, so a leading `**` + slash would miss the top folder. */
function patterns(below: string, glob: string): readonly string[] {
  const globs = glob.startsWith('**/') ? [glob, glob.slice(3)] : [glob];
  return globs.map((pattern) => join(below, pattern).replaceAll('\\', '/'));
}

/** Its paths are relative to the repository, or to the file system's root. */
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

/** Reads `opencode run --format json`. It has no end event: without an error, the last text is the result. */
function opencodeReader(): AgentReader {
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
          lastWord = answerText(asString(part['text'])) || lastWord;
          return textEvents(part['text']);
        case 'tool_use':
          return toolEvents(part['tool'], asFields(part['state']));
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

/** A call, and what it returned if it has ended. */
function toolEvents(name: unknown, { status, input, output, error }: JsonFields): readonly AgentEvent[] {
  const call = toolEvent(name, input);
  if (status === 'error') return [call, outputEvent(error, false)];
  return status === 'completed' ? [call, outputEvent(output, true)] : [call];
}
