import { describe, expect, it } from 'vitest';
import { limitInText, outageInText, retryAfterMs } from '../../src/tools/limit-text.ts';

/** Texts of real agents and services, with where they were reported, the time of day, and when the limit resets. */
const TEXTS: readonly (readonly [
  agent: string,
  source: string,
  now: string,
  resetAt: string | undefined,
  text: string,
])[] = [
  [
    'claude',
    'https://github.com/anthropics/claude-code/issues/2490',
    '2025-06-23T16:24:50Z',
    '2025-06-23T20:00:00.000Z',
    'Claude AI usage limit reached|1750708800',
  ],
  [
    'claude',
    'https://github.com/anthropics/claude-code/issues/2490',
    '2025-06-23T16:24:50Z',
    '2025-06-23T20:00:00.000Z',
    'Claude usage limit reached. Your limit will reset at 3pm (America/Bogota).',
  ],
  [
    'claude',
    'https://github.com/anthropics/claude-code/issues/13632',
    '2025-12-11T05:00:00Z',
    '2025-12-11T06:00:00.000Z',
    'Limit reached · resets 11:30am (Asia/Calcutta) · /upgrade to Max or turn on /extra-usage',
  ],
  [
    'claude',
    'https://github.com/anthropics/claude-code/issues/77082',
    '2026-07-13T06:00:00Z',
    '2026-07-13T11:30:00.000Z',
    "You've hit your session limit · resets 8:30pm (Asia/Tokyo)",
  ],
  [
    'claude, past midnight',
    'https://github.com/anthropics/claude-code/issues/21111',
    '2026-01-26T22:03:46Z',
    '2026-01-27T01:00:00.000Z',
    "You've hit your limit · resets 2am (Europe/Berlin)",
  ],
  [
    'claude, with a reset that has just passed',
    'https://github.com/anthropics/claude-code/issues/15064',
    '2025-12-22T15:33:00Z',
    '2025-12-22T15:33:00.000Z',
    'Claude usage limit reached. Your limit will reset at 9am (America/Chicago).',
  ],
  [
    'claude',
    'https://github.com/anthropics/claude-code/issues/54698',
    '2026-04-29T14:58:12Z',
    undefined,
    'Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your account\'s rate limit. Please try again later."}}',
  ],
  [
    'codex',
    'https://github.com/openai/codex/issues/3899',
    '2025-09-19T10:00:00Z',
    '2025-09-25T08:11:00.000Z',
    "You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing) or try again in 5 days 22 hours 11 minutes.",
  ],
  [
    'codex',
    'https://github.com/openai/codex/issues/3031',
    '2025-09-01T10:00:00Z',
    '2025-09-01T13:02:00.000Z',
    "You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing) or try again in 3 hours 2 minutes.",
  ],
  [
    'codex, without a time',
    'https://github.com/openai/codex/issues/2669',
    '2025-08-25T07:00:00Z',
    undefined,
    "You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing), or wait for limits to reset (every 5h and every week.).",
  ],
  [
    'codex, in local time',
    'https://github.com/openai/codex/issues/26668',
    '2026-06-05T10:00:00Z',
    new Date(2026, 6, 5, 20, 19).toISOString(),
    "You've hit your usage limit. Upgrade to Plus to continue using Codex (https://chatgpt.com/explore/plus), or try again at Jul 5th, 2026 8:19 PM.",
  ],
  [
    'gemini',
    'https://github.com/google-gemini/gemini-cli/issues/19976',
    '2026-02-22T10:00:00Z',
    undefined,
    '[API Error: Resource has been exhausted (e.g. check quota).]',
  ],
  [
    'gemini',
    'https://github.com/google-gemini/gemini-cli/issues/10925',
    '2025-10-10T10:00:00Z',
    undefined,
    '[API Error: [{ "error": { "code": 429, "message": "Quota exceeded for quota metric \'Gemini 2.5 Pro Requests\' and limit \'Gemini 2.5 Pro Requests per day per user per tier\'", "status": "RESOURCE_EXHAUSTED" } }]]',
  ],
  [
    'gemini, of a day',
    'Gemini CLI 0.61.0, with the answer of the scripted model server',
    '2026-02-22T10:00:00Z',
    undefined,
    '[API Error: You have exhausted your daily quota on this model.]\nPlease wait and try again later.',
  ],
  [
    'gemini, with the delay of google.rpc.RetryInfo',
    'https://cloud.google.com/apis/design/errors',
    '2025-10-10T10:00:00Z',
    '2025-10-10T10:00:34.000Z',
    '{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay": "34s"}]}}',
  ],
  [
    'qwen',
    'https://github.com/QwenLM/qwen-code/issues/1742',
    '2026-02-06T19:08:04Z',
    undefined,
    '[API Error: 429 Free allocated quota exceeded.]',
  ],
  [
    'qwen',
    'https://github.com/QwenLM/qwen-code/issues/882',
    '2025-10-27T10:00:00Z',
    undefined,
    '[API Error: 429 status code (no body)]',
  ],
  [
    'opencode',
    'https://github.com/anomalyco/opencode/issues/39790',
    '2026-07-30T06:00:00Z',
    '2026-07-30T08:11:46.000Z',
    'You have exceeded the 5-hour usage quota. It will reset at 2026-07-30 16:11:46 +0800 CST.',
  ],
  [
    'opencode, in local time',
    'https://github.com/anomalyco/opencode/issues/22015',
    '2026-04-11T10:00:00Z',
    new Date(2026, 3, 11, 20, 30, 24).toISOString(),
    'Usage limit reached for 5 hour. Your limit will reset at 2026-04-11 20:30:24',
  ],
  [
    'opencode',
    'https://github.com/anomalyco/opencode/issues/16994',
    '2026-03-11T10:00:00Z',
    undefined,
    'You have exceeded the request rate limit. Please wait a short period before retrying your request or contact the support to increase your request rate limit.',
  ],
  [
    'opencode',
    'https://github.com/anomalyco/opencode/issues/21465',
    '2026-04-08T10:00:00Z',
    undefined,
    'Too many requests, the rate limit is 8000000 tokens per minute.',
  ],
];

describe('the text of a limit', () => {
  it.each(TEXTS)('of %s (%s)', (_agent, _source, now, resetAt, text) => {
    const found = limitInText(text, Date.parse(now));
    expect(found).toBeDefined();
    expect(found?.resetAt && new Date(found.resetAt).toISOString()).toBe(resetAt);
  });

  it('is not found in what an agent says about its work', () => {
    const texts = [
      'I added a rate limiter to server.ts. It answers with status 503 and a Retry-After header.',
      'The tests of the quota module fail: expected 3, got 4.',
      'Tests: 429 passed, 2 failed',
      'exited with status 1: cannot find module',
      'The function resets at 3pm every day.',
    ];
    for (const text of texts) expect(limitInText(text, 0), text).toBeUndefined();
  });

  it('is read in bounded time, however long', () => {
    const long = `${'try again in 5 '.repeat(200_000)} usage limit reached`;
    expect(limitInText(long, 0)).toEqual({});
    expect(limitInText(`${'9'.repeat(1_000_000)}`, 0)).toBeUndefined();
  });

  it('may name a time zone that does not exist', () => {
    expect(limitInText("You've hit your limit · resets 2am (Mars/Olympus)", 0)).toEqual({});
  });
});

describe('a shared outside reason', () => {
  it.each([
    ['auth', 'Invalid API key · Please run /login'],
    ['auth', 'unexpected status 401 Unauthorized: Incorrect API key provided'],
    ['billing', 'Credit balance is too low'],
    ['billing', '{"error":{"type":"insufficient_quota","message":"You exceeded your current quota"}}'],
    ['network', 'stream error: error sending request for url (https://api.example.com/v1/responses)'],
    ['network', 'getaddrinfo EAI_AGAIN api.example.com'],
  ])('is %s for: %s', (kind, text) => {
    expect(outageInText(text)).toBe(kind);
    expect(limitInText(text, 0)).toBeUndefined();
  });

  it('is not found in an ordinary failure', () => {
    expect(outageInText('The tests failed: connect ECONNREFUSED 127.0.0.1:5432')).toBeUndefined();
  });
});

describe('a Retry-After header', () => {
  it.each([
    ['120', 120_000],
    ['0', 0],
    ['Fri, 31 Dec 1999 23:59:59 GMT', 59_000],
    ['Fri, 31 Dec 1999 23:00:00 GMT', 0],
    ['soon', undefined],
    ['-5', undefined],
    ['', undefined],
    [null, undefined],
  ])('%s', (header, expected) => {
    expect(retryAfterMs(header, Date.parse('1999-12-31T23:59:00Z'))).toBe(expected);
  });
});
