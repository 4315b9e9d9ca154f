import type { AgentReader } from './adapter.ts';
import { countOf, fieldsOf, jsonReader, textEvents, textOf, toolEvent } from './json-events.ts';
import { shownText } from './shown-text.ts';

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
      const part = fieldsOf(fields['part']);
      switch (fields['type']) {
        case 'text':
          lastWord = shownText(textOf(part['text'])) || lastWord;
          return textEvents(part['text']);
        case 'tool_use':
          return [toolEvent(part['tool'], fieldsOf(part['state'])['input'])];
        case 'step_finish': {
          const tokens = fieldsOf(part['tokens']);
          const cache = fieldsOf(tokens['cache']);
          turns += 1;
          inputTokens += countOf(tokens['input']) + countOf(cache['read']) + countOf(cache['write']);
          outputTokens += countOf(tokens['output']) + countOf(tokens['reasoning']);
          costUsd += countOf(part['cost']);
          return [{ type: 'usage', turns, inputTokens, outputTokens, costUsd }];
        }
        case 'error': {
          const { name, data } = fieldsOf(fields['error']);
          error = shownText(textOf(fieldsOf(data)['message']) || textOf(name)) || 'an error';
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
