import type { AgentEvent, AgentReader } from './adapter.ts';
import {
  countOf,
  errorText,
  type Fields,
  fieldsOf,
  jsonReader,
  listOf,
  textEvents,
  textOf,
  toolEvent,
} from './json-events.ts';
import { shownText } from './shown-text.ts';

/** How Codex starts a command, which is all that is to be seen of it. */
const SHELL = /^\S*sh -l?c (['"]?)(.*)\1$/s;

/** Reads `codex exec --json`: a thread of turns, and in them items that start and complete. */
export function codexReader(): AgentReader {
  const shown = new Set<string>();
  let lastWord = '';
  let turns = 0;
  let inputTokens = 0;
  let outputTokens = 0;

  const item = (fields: Fields): readonly AgentEvent[] => {
    if (fields['type'] === 'agent_message') {
      lastWord = shownText(textOf(fields['text'])) || lastWord;
      return textEvents(fields['text']);
    }
    const id = textOf(fields['id']);
    const tool = toolOf(fields);
    // It is named when it starts, and again when it completes.
    if (tool === undefined || shown.has(id)) return [];
    shown.add(id);
    return [tool];
  };

  return jsonReader((fields) => {
    switch (fields['type']) {
      case 'item.started':
        return fieldsOf(fields['item'])['type'] === 'agent_message' ? [] : item(fieldsOf(fields['item']));
      case 'item.completed':
        return item(fieldsOf(fields['item']));
      case 'turn.completed': {
        const usage = fieldsOf(fields['usage']);
        turns += 1;
        inputTokens += countOf(usage['input_tokens']);
        outputTokens += countOf(usage['output_tokens']);
        return [
          { type: 'usage', turns, inputTokens, outputTokens },
          { type: 'result', ok: true, text: lastWord },
        ];
      }
      case 'turn.failed': {
        const text = errorText(fieldsOf(fields['error'])['message']) || 'the turn failed';
        return [{ type: 'result', ok: false, text }];
      }
      case 'error':
        return textEvents(errorText(fields['message']));
      default:
        return [];
    }
  });
}

function toolOf(fields: Fields): AgentEvent | undefined {
  switch (fields['type']) {
    case 'command_execution':
      return toolEvent('shell', textOf(fields['command']).replace(SHELL, '$2'));
    case 'file_change': {
      const paths = listOf(fields['changes']).map(({ path }) => textOf(path));
      return toolEvent('edit', { path: paths.join(', ') });
    }
    case 'mcp_tool_call':
      return toolEvent(`${textOf(fields['server'])}.${textOf(fields['tool'])}`, fields['arguments']);
    case 'web_search':
      return toolEvent('web_search', fields);
    default:
      return undefined;
  }
}
