import { type Json, jsonList, type Protocol, sendEvents, sendJson } from './protocol.ts';
import { type Reply, USAGE } from './script.ts';

/** OpenAI's chat completions, as opencode and Qwen Code use them. */
export const openaiChat: Protocol = {
  handles: (path) => path.endsWith('/chat/completions'),
  conversation: (body) => ({
    tools: jsonList(body['tools']).map((tool) => String((tool['function'] as Json)['name'])),
    results: jsonList(body['messages'])
      .filter(({ role }) => role === 'tool')
      .map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content))),
    text: JSON.stringify(body['messages']),
  }),
  answer: (reply, { body }, response) => {
    const common = { id: 'chat_1', created: 1, model: body['model'] };
    const message = messageOf(reply, `call_${jsonList(body['messages']).length}`);
    const reason = 'text' in reply ? 'stop' : 'tool_calls';
    const usage = {
      prompt_tokens: USAGE.input,
      completion_tokens: USAGE.output,
      total_tokens: USAGE.input + USAGE.output,
    };
    if (body['stream'] !== true) {
      const choices = [{ index: 0, message, finish_reason: reason }];
      sendJson(response, { ...common, object: 'chat.completion', choices, usage });
      return;
    }
    const chunk = (choices: readonly Json[], more: Json = {}) => ({
      data: { ...common, object: 'chat.completion.chunk', choices, ...more },
    });
    sendEvents(response, [
      chunk([{ index: 0, delta: message, finish_reason: null }]),
      chunk([{ index: 0, delta: {}, finish_reason: reason }]),
      chunk([], { usage }),
      { data: '[DONE]' },
    ]);
  },
  exhausted: (resetsInMs) => ({
    body: {
      error: {
        message: `Rate limit reached for requests. Please try again in ${Math.ceil(resetsInMs / 1000)}s.`,
        type: 'requests',
        code: 'rate_limit_exceeded',
      },
    },
    headers: { 'retry-after': String(Math.ceil(resetsInMs / 1000)) },
  }),
};

function messageOf(reply: Reply, id: string): Json {
  if ('text' in reply) return { role: 'assistant', content: reply.text };
  const { name, arguments: given } = reply.call;
  const call = { index: 0, id, type: 'function', function: { name, arguments: JSON.stringify(given) } };
  return { role: 'assistant', content: null, tool_calls: [call] };
}
