import type { AgentEvent, AgentReader } from './adapter.ts';
import {
  countOf,
  errorText,
  type Fields,
  fieldsOf,
  jsonReader,
  textEvents,
  textOf,
  toolEvent,
} from './json-events.ts';
import { shownText } from './shown-text.ts';

const MAX_KEPT = 16_000;

/** Reads `gemini --output-format stream-json`. Its messages come in pieces, which are put together. */
export function geminiReader(): AgentReader {
  let pieces = '';
  let lastWord = '';
  const spoken = (): readonly AgentEvent[] => {
    const events = textEvents(pieces);
    if (events.length > 0) lastWord = shownText(pieces);
    pieces = '';
    return events;
  };

  return jsonReader((fields) => {
    switch (fields['type']) {
      case 'message':
        if (fields['role'] === 'assistant') pieces = `${pieces}${textOf(fields['content'])}`.slice(-MAX_KEPT);
        return [];
      case 'tool_use':
        return [...spoken(), toolEvent(fields['tool_name'], fields['parameters'])];
      case 'error':
        return [...spoken(), ...textEvents(fields['message'])];
      case 'result': {
        const events = spoken();
        return [...events, usageOf(fieldsOf(fields['stats'])), resultOf(fields, lastWord)];
      }
      default:
        return [];
    }
  }, spoken);
}

function usageOf(stats: Fields): AgentEvent {
  return {
    type: 'usage',
    inputTokens: countOf(stats['input_tokens']),
    outputTokens: countOf(stats['output_tokens']),
  };
}

function resultOf(fields: Fields, lastWord: string): AgentEvent {
  const ok = fields['status'] === 'success';
  const text = ok ? lastWord : errorText(fieldsOf(fields['error'])['message']) || lastWord;
  return { type: 'result', ok, text };
}
