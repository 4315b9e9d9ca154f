import { z } from 'zod';
import { MAX_SPAN_MS } from '../../core/numbers.ts';
import { DEFAULTS } from '../defaults.ts';
import { choice, table, text, textList, wholeNumber } from './kinds.ts';

const defaults = DEFAULTS.server;
const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
const { limits } = defaults;

const path = (does: string) =>
  z.string().min(1).max(1024).optional().meta({ description: does, defaultText: 'none' });

const token = table(
  'A program that may use the server, by its name; `volley token NAME` makes the lines. The token itself is kept by the program and stands nowhere here.',
  {
    hash: z
      .string()
      .max(71)
      .superRefine((hash, context) => {
        if (/^sha256:[\da-f]{64}$/.test(hash)) return;
        context.addIssue({ code: 'custom', message: 'must be "sha256:" and 64 hexadecimal digits' });
      })
      .meta({ description: 'The SHA-256 of the token: `sha256:` and 64 hexadecimal digits.' }),
    scope: choice(['read', 'run', 'admin'], {
      does: 'What it may do: `read` sees everything, `run` also adds, starts, stops, cancels and retries, `admin` also clears. Each includes those before it.',
      default: 'read',
    }),
  },
);

const tokenName = z
  .string()
  .regex(/^[A-Za-z_][\w.-]{0,63}$/)
  .meta({ description: '1 to 64 letters, digits, "_", "-" or ".", the first a letter or "_"' });

export const serverSection = table('`volley serve`: the HTTP API and the dashboard.', {
  host: text({
    does: 'The address to listen on. Others than those of this machine itself need tokens, and should have TLS.',
    default: defaults.host,
  }),
  port: z.number().int().min(0).max(65_535).optional().meta({
    description: 'The port to listen on; 0 takes a free one.',
    defaultText: '7717, or a free one where that is taken',
  }),
  allowed_hosts: textList(
    {
      does: 'Host names by which the server may be called, besides `localhost` and addresses; one with a port counts with that port only. Others are refused, so that no foreign page can reach it by a name of its own.',
      default: defaults.allowed_hosts,
      examples: ['volley.example.org'],
    },
    (host) =>
      /^(\[[\da-f:.]+\]|[a-z\d._-]+)(:\d{1,5})?$/i.test(host)
        ? undefined
        : 'must be a host name such as "volley.example.org", with or without a port',
  ),
  allowed_origins: textList(
    {
      does: 'Pages of other origins that may call the API, with a token of their own.',
      default: defaults.allowed_origins,
      examples: ['https://tools.example.org'],
    },
    (origin) =>
      URL.canParse(origin) && new URL(origin).origin === origin
        ? undefined
        : 'must be an origin such as "https://tools.example.org"',
  ),
  grace_ms: wholeNumber({
    does: 'How long running tasks may go on after the server was told to stop.',
    default: defaults.grace_ms,
    min: 0,
    max: MAX_SPAN_MS,
  }),
  session_ms: wholeNumber({
    does: 'How long a browser stays signed in.',
    default: defaults.session_ms,
    min: 1000,
    max: MAX_SPAN_MS,
  }),
  log_level: choice(LOG_LEVELS, {
    does: 'Which lines are logged: those of this level and the ones behind it. `debug` has a line for every request.',
    default: defaults.log_level,
  }),
  limits: table('What a client may cost. More is refused.', {
    max_body_bytes: wholeNumber({
      does: 'The largest body of a request.',
      default: limits.max_body_bytes,
      min: 1024,
      max: 2 ** 30,
    }),
    max_depth: wholeNumber({
      does: 'How deep JSON of a request may be nested.',
      default: limits.max_depth,
      min: 8,
      max: 1000,
    }),
    max_connections: wholeNumber({
      does: 'How many connections may be open at once.',
      default: limits.max_connections,
      min: 1,
      max: 1_000_000,
    }),
    header_timeout_ms: wholeNumber({
      does: 'How long a client may take to send the headers of a request.',
      default: limits.header_timeout_ms,
      min: 100,
      max: MAX_SPAN_MS,
    }),
    request_timeout_ms: wholeNumber({
      does: 'How long a client may take to send a whole request.',
      default: limits.request_timeout_ms,
      min: 100,
      max: MAX_SPAN_MS,
    }),
    requests_per_second: wholeNumber({
      does: 'How many requests each token, session and address may send, on average; twice as many at once.',
      default: limits.requests_per_second,
      min: 1,
      max: 10_000_000,
    }),
    streams: wholeNumber({
      does: 'How many streams of events each token, session and address may hold open.',
      default: limits.streams,
      min: 1,
      max: 1_000_000,
    }),
  }).prefault({}),
  tls: table('Certificate files. With both, the server speaks HTTPS.', {
    certificate: path('The certificate with its chain, PEM; relative to the folder of `volley.toml`.'),
    key: path('Its private key, PEM.'),
  })
    // With one of them the server would be open without anybody noticing.
    .refine(({ certificate, key }) => (certificate === undefined) === (key === undefined), {
      error: 'must have both certificate and key',
    })
    .prefault({}),
  tokens: z.record(tokenName, token).default({}),
});
