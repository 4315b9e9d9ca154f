import { jsonList, type Protocol, sendEvents, sendJson } from './protocol.ts';
import { USAGE } from './script.ts';

/** Google's generateContent, as Gemini CLI uses it. */
export const geminiContent: Protocol = {
  handles: (path) => /:(?:streamGenerateContent|generateContent|countTokens)$/.test(path),
  conversation: (body) => {
    const parts = jsonList(body['contents']).flatMap(({ parts }) => jsonList(parts));
    return {
      tools: jsonList(body['tools'])
        .flatMap((tool) => jsonList(tool['functionDeclarations']))
        .map(({ name }) => String(name)),
      results: parts
        .filter(({ functionResponse }) => functionResponse !== undefined)
        .map(({ functionResponse }) => JSON.stringify(functionResponse)),
      text: JSON.stringify(body['contents']),
    };
  },
  answer: (reply, { path }, response) => {
    if (path.endsWith(':countTokens')) return sendJson(response, { totalTokens: USAGE.input });
    const part =
      'text' in reply
        ? { text: reply.text }
        : { functionCall: { name: reply.call.name, args: reply.call.arguments } };
    const answer = {
      candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
      usageMetadata: {
        promptTokenCount: USAGE.input,
        candidatesTokenCount: USAGE.output,
        totalTokenCount: USAGE.input + USAGE.output,
      },
    };
    if (path.endsWith(':generateContent')) return sendJson(response, answer);
    sendEvents(response, [{ data: answer }]);
  },
  // Gemini CLI waits for a limit of a minute by itself, but not for one of a day.
  exhausted: (resetsInMs) => ({
    body: {
      error: {
        code: 429,
        message: 'You exceeded your current quota, please check your plan and billing details.',
        status: 'RESOURCE_EXHAUSTED',
        details: [
          {
            '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
            violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier', quotaValue: '250' }],
          },
          {
            '@type': 'type.googleapis.com/google.rpc.RetryInfo',
            retryDelay: `${Math.ceil(resetsInMs / 1000)}s`,
          },
        ],
      },
    },
  }),
};
