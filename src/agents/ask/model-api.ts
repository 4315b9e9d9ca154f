import type { ModelSettings } from '../../config/config.ts';
import { VolleyError } from '../../core/errors.ts';
import { printableLine } from '../../core/printable-text.ts';
import { type LimitReport, OutageError, RateLimitedError } from '../../engine/tool-failure.ts';
import { resetInText, retryAfterMs } from '../../tools/limit-text.ts';
import { asCount, asFieldList, asFields, asString, type JsonFields } from '../agent-output.ts';
import { type Rejected, rejectionText, type Said } from './answer.ts';

/** An HTTP request to a model. */
export interface ModelRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What came back. */
export interface ModelResponse {
  readonly status: number;
  readonly headers: Pick<Headers, 'get'>;
  readonly body: string;
}

const ANTHROPIC_VERSION = '2023-06-01';
const MILLION = 1_000_000;
const MAX_SHOWN_LENGTH = 500;
/** An error is short. */
const MAX_READ = 10_000;
const CUT_OFF = 'The answer was cut off because it is too long. Answer more briefly.';

/** What a model's limits are known by. */
export function quotaOf(name: string): string {
  return `model:${name}`;
}

/** The request for an answer, or for a better one than the last. */
export function modelRequest(
  { api, url, model, maxTokens }: ModelSettings,
  key: string | undefined,
  prompt: string,
  rejected: Rejected | undefined,
): ModelRequest {
  const messages = [
    { role: 'user', content: prompt },
    ...(rejected === undefined
      ? []
      : [
          // No API takes an empty message.
          { role: 'assistant', content: rejected.answer || '(empty)' },
          { role: 'user', content: rejectionText(rejected) },
        ]),
  ];
  const base = url.replace(/\/+$/, '');
  if (api === 'anthropic')
    return {
      url: `${base}${base.endsWith('/v1') ? '' : '/v1'}/messages`,
      headers: { 'anthropic-version': ANTHROPIC_VERSION, ...(key !== undefined && { 'x-api-key': key }) },
      body: JSON.stringify({ model, max_tokens: maxTokens, messages }),
    };
  // Only OpenAI itself refuses the name that all others understand.
  const limit = new URL(url).hostname === 'api.openai.com' ? 'max_completion_tokens' : 'max_tokens';
  return {
    url: `${base}/chat/completions`,
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, messages, [limit]: maxTokens }),
  };
}

/** The answer in a response. Throws if it has no answer. */
export function modelAnswer(settings: ModelSettings, name: string, response: ModelResponse): Said {
  if (response.status < 200 || response.status > 299) throw modelFailure(name, response);
  const fields = parsed(response.body);
  if (fields === undefined)
    throw modelFailed(`Model ${name} answered with something that is not JSON.`, true);
  const usage = asFields(fields['usage']);
  if (settings.api === 'anthropic') {
    const text = asFieldList(fields['content'])
      .filter(({ type }) => type === 'text')
      .map((part) => asString(part['text']))
      .join('');
    const inputTokens =
      asCount(usage['input_tokens']) +
      asCount(usage['cache_creation_input_tokens']) +
      asCount(usage['cache_read_input_tokens']);
    const isCut = fields['stop_reason'] === 'max_tokens';
    return saidBy(settings, text, inputTokens, asCount(usage['output_tokens']), isCut);
  }
  const [choice] = asFieldList(fields['choices']);
  if (choice === undefined) throw modelFailed(`Model ${name} answered without a message.`, true);
  const text = asString(asFields(choice['message'])['content']);
  const isCut = choice['finish_reason'] === 'length';
  return saidBy(settings, text, asCount(usage['prompt_tokens']), asCount(usage['completion_tokens']), isCut);
}

function saidBy(
  { inputCost, outputCost }: ModelSettings,
  text: string,
  inputTokens: number,
  outputTokens: number,
  isCut: boolean,
): Said {
  const isPriced = inputCost !== undefined && outputCost !== undefined;
  return {
    text,
    inputTokens,
    outputTokens,
    ...(isPriced && { costUsd: (inputTokens * inputCost + outputTokens * outputCost) / MILLION }),
    ...(isCut && { problem: CUT_OFF }),
  };
}

/** What a response with an error status means: a limit, an outage that other calls share, or a failure of this call. */
function modelFailure(name: string, response: ModelResponse): Error {
  const { status } = response;
  const error = asFields(parsed(response.body)?.['error']);
  const said = printableLine((asString(error['message']) || response.body).slice(0, MAX_SHOWN_LENGTH));
  const message = `Model ${name} answered with status ${status}${said === '' ? '.' : `: ${said}`}`;
  const scope = quotaOf(name);
  const kind = `${asString(error['code'])} ${asString(error['type'])}`;
  if (status === 402 || /insufficient_quota|billing/.test(kind))
    return new OutageError(message, { kind: 'billing', scope });
  if (status === 401 || status === 403) return new OutageError(message, { kind: 'auth', scope });
  if (status === 429 || status === 503 || status === 529) {
    return new RateLimitedError(message, { scope, ...limitOf(response) });
  }
  return modelFailed(message, status >= 500 || status === 408);
}

/** How long the server asks to wait: in a header, or in the words of its error. */
function limitOf({ headers, body }: ModelResponse): Pick<LimitReport, 'retryAfterMs' | 'resetAt'> {
  const now = Date.now();
  const ms = Number(headers.get('retry-after-ms') ?? Number.NaN);
  const wait = ms >= 0 ? ms : retryAfterMs(headers.get('retry-after'), now);
  if (wait !== undefined) return { retryAfterMs: wait };
  const resetAt = resetInText(body.slice(0, MAX_READ), now);
  return resetAt === undefined ? {} : { resetAt };
}

export function modelFailed(message: string, retryable: boolean): VolleyError {
  return Object.assign(new VolleyError('MODEL_FAILED', message), { retryable });
}

function parsed(body: string): JsonFields | undefined {
  try {
    return asFields(JSON.parse(body));
  } catch {
    return undefined;
  }
}
