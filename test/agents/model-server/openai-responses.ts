import { type Json, jsonList, type Protocol, sendEvents } from './protocol.ts';
import { USAGE } from './script.ts';

/** OpenAI's responses, as Codex uses them. */
export const openaiResponses: Protocol = {
  handles: (path) => path.endsWith('/responses'),
  conversation: (body) => ({
    tools: jsonList(body['tools']).flatMap(toolNames),
    results: jsonList(body['input'])
      .filter(({ type }) => String(type).endsWith('_call_output'))
      .map(({ output }) => (typeof output === 'string' ? output : JSON.stringify(output))),
    text: JSON.stringify(body['input']),
  }),
  answer: (reply, { body }, response) => {
    const item =
      'text' in reply
        ? {
            type: 'message',
            role: 'assistant',
            id: 'msg_1',
            content: [{ type: 'output_text', text: reply.text }],
          }
        : {
            type: 'function_call',
            id: 'fc_1',
            call_id: `call_${jsonList(body['input']).length}`,
            ...called(reply.call.name),
            arguments: JSON.stringify(reply.call.arguments),
          };
    const usage = {
      input_tokens: USAGE.input,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: USAGE.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: USAGE.input + USAGE.output,
    };
    const events = [
      { type: 'response.created', response: { id: 'resp_1' } },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { id: 'resp_1', usage, output: [item] } },
    ];
    sendEvents(
      response,
      events.map((data) => ({ event: data.type, data })),
    );
  },
  exhausted: (resetsInMs) => ({
    body: {
      error: {
        type: 'usage_limit_reached',
        message: 'The usage limit has been reached',
        plan_type: 'plus',
        resets_at: Math.ceil((Date.now() + resetsInMs) / 1000),
      },
    },
  }),
};

/** Tools of one MCP server come together, under a name of their own. */
function toolNames(tool: Json): string[] {
  if (tool['type'] !== 'namespace') return tool['name'] === undefined ? [] : [String(tool['name'])];
  return jsonList(tool['tools']).map(({ name }) => `${String(tool['name'])}/${String(name)}`);
}

function called(name: string): Json {
  const [namespace, inner] = name.split('/');
  return inner === undefined ? { name } : { namespace, name: inner };
}
