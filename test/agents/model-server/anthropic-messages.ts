import { type Json, jsonList, type Protocol, sendEvents, sendJson } from './protocol.ts';
import { USAGE } from './script.ts';

/** Anthropic's messages, as Claude Code uses them. */
export const anthropicMessages: Protocol = {
  handles: (path) => /\/messages(?:\/count_tokens)?$/.test(path),
  conversation: (body) => ({
    tools: jsonList(body['tools']).map(({ name }) => String(name)),
    results: jsonList(body['messages'])
      .flatMap(({ content }) => jsonList(content))
      .filter(({ type }) => type === 'tool_result')
      .map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content))),
    text: JSON.stringify(body['messages']),
  }),
  answer: (reply, { path, body }, response) => {
    if (path.endsWith('/count_tokens')) return sendJson(response, { input_tokens: USAGE.input });
    const turn = jsonList(body['messages']).length;
    const reason = 'text' in reply ? 'end_turn' : 'tool_use';
    const block: Json =
      'text' in reply
        ? { type: 'text', text: reply.text }
        : { type: 'tool_use', id: `toolu_${turn}`, name: reply.call.name, input: reply.call.arguments };
    const message = { id: `msg_${turn}`, type: 'message', role: 'assistant', model: body['model'] };
    const usage = { input_tokens: USAGE.input, output_tokens: USAGE.output };
    if (body['stream'] !== true) {
      sendJson(response, { ...message, content: [block], stop_reason: reason, stop_sequence: null, usage });
      return;
    }
    const [empty, delta] =
      'text' in reply
        ? [
            { type: 'text', text: '' },
            { type: 'text_delta', text: reply.text },
          ]
        : [
            { ...block, input: {} },
            { type: 'input_json_delta', partial_json: JSON.stringify(block['input']) },
          ];
    const events = [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null, usage } },
      { type: 'content_block_start', index: 0, content_block: empty },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage },
      { type: 'message_stop' },
    ];
    sendEvents(
      response,
      events.map((data) => ({ event: data.type, data })),
    );
  },
  exhausted: (resetsInMs) => ({
    body: {
      type: 'error',
      error: { type: 'rate_limit_error', message: "This request would exceed your account's rate limit." },
    },
    // Claude Code asks again only where it may.
    headers: { 'x-should-retry': 'false', 'retry-after': String(Math.ceil(resetsInMs / 1000)) },
  }),
};
