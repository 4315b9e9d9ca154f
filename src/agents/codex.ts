import type { AgentAdapter, AgentEvent, AgentReader } from './adapter.ts';
import {
  answerText,
  asCount,
  asFieldList,
  asFields,
  asString,
  errorText,
  type JsonFields,
  jsonReader,
  outputEvent,
  textEvents,
  toolEvent,
} from './agent-output.ts';

/**
 * Codex runs commands in its own sandbox: they can write only to the workspace, and have no network unless the user
 * configured it. It does not accept lists of paths or commands for a single run.
 *
 * Its databases go to a private folder, since they lock when several processes run. Login, configuration and sessions
 * stay shared, so that a renewed token is renewed for all.
 */
export const codexAdapter: AgentAdapter = {
  name: 'codex',
  command: async (task) => ({
    argv: [
      'codex',
      'exec',
      '--json',
      '--skip-git-repo-check',
      '--sandbox',
      task.writes ? 'workspace-write' : 'read-only',
      '--cd',
      task.cwd,
      ...(task.mailbox === undefined ? [] : ['--add-dir', task.mailbox]),
      // A login shell would reset `PATH`, so `volley` would not be found.
      '--config',
      'allow_login_shell=false',
      ...(task.model === undefined ? [] : ['--model', task.model]),
      '-',
    ],
    env: { CODEX_SQLITE_HOME: task.stateFolder },
    input: task.prompt,
  }),
  reader: codexReader,
};

/** The wrapper that Codex puts around a command. */
const SHELL = /^\S*sh -l?c (['"]?)(.*)\1$/s;

/** Reads `codex exec --json`: turns of items that start and complete. */
function codexReader(): AgentReader {
  const shown = new Set<string>();
  let lastWord = '';
  let turns = 0;
  let inputTokens = 0;
  let outputTokens = 0;

  const item = (fields: JsonFields): readonly AgentEvent[] => {
    if (fields['type'] === 'agent_message') {
      lastWord = answerText(asString(fields['text'])) || lastWord;
      return textEvents(fields['text']);
    }
    if (fields['type'] === 'error') return [outputEvent(fields['message'], false)];
    const id = asString(fields['id']);
    const tool = toolOf(fields);
    if (tool === undefined) return [];
    const output = outputOf(fields);
    // Reported when it starts and again when it completes.
    if (shown.has(id)) return output;
    shown.add(id);
    return [tool, ...output];
  };

  return jsonReader((fields) => {
    switch (fields['type']) {
      case 'item.started':
        return asFields(fields['item'])['type'] === 'agent_message' ? [] : item(asFields(fields['item']));
      case 'item.completed':
        return item(asFields(fields['item']));
      case 'turn.completed': {
        const usage = asFields(fields['usage']);
        turns += 1;
        inputTokens += asCount(usage['input_tokens']);
        outputTokens += asCount(usage['output_tokens']);
        return [
          { type: 'usage', turns, inputTokens, outputTokens },
          { type: 'result', ok: true, text: lastWord },
        ];
      }
      case 'turn.failed': {
        const text = errorText(asFields(fields['error'])['message']) || 'the turn failed';
        return [{ type: 'result', ok: false, text }];
      }
      case 'error':
        return textEvents(errorText(fields['message']));
      default:
        return [];
    }
  });
}

/** What a completed item returned. */
function outputOf(fields: JsonFields): readonly AgentEvent[] {
  const { type, status } = fields;
  if (status !== 'completed' && status !== 'failed' && status !== 'declined') return [];
  const ok = status === 'completed';
  if (type === 'command_execution') return [outputEvent(fields['aggregated_output'], ok)];
  if (type === 'mcp_tool_call') {
    const value = ok ? asFields(fields['result'])['content'] : asFields(fields['error'])['message'];
    return [outputEvent(value, ok)];
  }
  return ok ? [] : [outputEvent('failed', false)];
}

function toolOf(fields: JsonFields): AgentEvent | undefined {
  switch (fields['type']) {
    case 'command_execution':
      return toolEvent('shell', asString(fields['command']).replace(SHELL, '$2'));
    case 'file_change': {
      const paths = asFieldList(fields['changes']).map(({ path }) => asString(path));
      return toolEvent('edit', { path: paths.join(', ') });
    }
    case 'mcp_tool_call':
      return toolEvent(`${asString(fields['server'])}.${asString(fields['tool'])}`, fields['arguments']);
    case 'web_search':
      return toolEvent('web_search', fields);
    default:
      return undefined;
  }
}
