import type { AgentEvent, AgentReader, AgentUsage } from './adapter.ts';
import {
  countOf,
  type Fields,
  fieldsOf,
  jsonReader,
  listOf,
  textEvents,
  textOf,
  toolEvent,
} from './json-events.ts';
import { shownText } from './shown-text.ts';

/** Reads the messages of `--output-format stream-json` as Claude Code writes them, and Qwen Code likewise. */
export function messagesReader(): AgentReader {
  /** A message may come in several parts, each with all that it used so far. */
  const byMessage = new Map<string, Fields>();

  return jsonReader((fields) => {
    switch (fields['type']) {
      case 'assistant': {
        const message = fieldsOf(fields['message']);
        byMessage.set(textOf(message['id']), fieldsOf(message['usage']));
        return [...listOf(message['content']).flatMap(partEvents), usageEvent(sumOf(byMessage))];
      }
      case 'result':
        return [usageEvent(totalOf(fields, sumOf(byMessage))), resultOf(fields)];
      default:
        return [];
    }
  });
}

function partEvents(part: Fields): readonly AgentEvent[] {
  if (part['type'] === 'text') return textEvents(part['text']);
  return part['type'] === 'tool_use' ? [toolEvent(part['name'], part['input'])] : [];
}

function usageEvent(usage: AgentUsage): AgentEvent {
  return { type: 'usage', ...usage };
}

function sumOf(byMessage: ReadonlyMap<string, Fields>): Required<Omit<AgentUsage, 'costUsd'>> {
  let inputTokens = 0;
  let outputTokens = 0;
  for (const usage of byMessage.values()) {
    inputTokens += inputOf(usage);
    outputTokens += countOf(usage['output_tokens']);
  }
  return { turns: byMessage.size, inputTokens, outputTokens };
}

/** The result counts better than the messages tell, where it counts at all. */
function totalOf(result: Fields, sum: ReturnType<typeof sumOf>): AgentUsage {
  const usage = fieldsOf(result['usage']);
  const cost = result['total_cost_usd'];
  return {
    turns: countOf(result['num_turns']) || sum.turns,
    inputTokens: inputOf(usage) || sum.inputTokens,
    outputTokens: countOf(usage['output_tokens']) || sum.outputTokens,
    ...(typeof cost === 'number' ? { costUsd: countOf(cost) } : {}),
  };
}

/** Tokens of the cache are no part of `input_tokens`. */
function inputOf(usage: Fields): number {
  return (
    countOf(usage['input_tokens']) +
    countOf(usage['cache_creation_input_tokens']) +
    countOf(usage['cache_read_input_tokens'])
  );
}

function resultOf(fields: Fields): AgentEvent {
  const said = textOf(fields['result']) || textOf(fieldsOf(fields['error'])['message']);
  // Qwen Code calls it a success when its model answers with an error.
  const isRefused = said.startsWith('[API Error:');
  const ok = fields['is_error'] !== true && fields['subtype'] === 'success' && !isRefused;
  return { type: 'result', ok, text: shownText(said || (ok ? '' : textOf(fields['subtype']))) };
}
