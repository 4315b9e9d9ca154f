import type { ErrorTable } from './table.ts';

/** Errors of the HTTP server. */
export const SERVER_ERRORS = {
  TOO_MANY_STREAMS: {
    meaning: 'As many streams of events are open as the server allows.',
    remedy: 'Close some, try again later, or raise the limit that the message names.',
  },
  SERVER_CLOSING: {
    meaning: 'The server is stopping and takes nothing more.',
    remedy: 'Ask again when it is back.',
  },
  UNAUTHENTICATED: {
    meaning: 'The server got no token, or one that it does not know or that has expired.',
    remedy:
      'Send "Authorization: Bearer …" with a token of the configuration or of the file beside the store, or open the address that `volley dashboard` prints.',
  },
  NOT_PERMITTED: {
    meaning: 'The token is valid, but its scope does not include what was asked for.',
    remedy: 'Use a token with the scope that the message names.',
  },
  HOST_NOT_ALLOWED: {
    meaning: 'The server was called by a host name that is not its own.',
    remedy: 'Call it by its address or localhost, or add the name to `server.allowed_hosts`.',
  },
  DUPLICATE_HOST: {
    meaning: 'A request has more than one Host header, so its host is ambiguous.',
    remedy: 'Send one Host header.',
  },
  ORIGIN_NOT_ALLOWED: {
    meaning: 'A page of another origin called the server.',
    remedy: 'Add its origin to `server.allowed_origins` if it may, and let it send a token.',
  },
  RATE_LIMITED: {
    meaning: 'A token, session or address sent more requests than it may.',
    remedy: 'Wait as long as Retry-After says, or raise `server.limits.requests_per_second`.',
  },
  BODY_TOO_LARGE: {
    meaning: 'The body of a request is larger than the server takes.',
    remedy: 'Send less at once, or raise `server.limits.max_body_bytes`.',
  },
  BODY_TOO_DEEP: {
    meaning: 'The JSON of a request is nested deeper than the server takes.',
    remedy: 'Make it flatter, or raise `server.limits.max_depth`.',
  },
  INVALID_JSON: {
    meaning: 'The body of a request is not valid JSON in UTF-8; the message says where.',
    remedy: 'Correct that place; nothing was done.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    meaning: 'The body of a request is not declared as JSON.',
    remedy: 'Send "Content-Type: application/json".',
  },
  UNKNOWN_ROUTE: {
    meaning: 'The server has nothing at this path.',
    remedy: 'Use a path of /openapi.json; the message gives the nearest.',
  },
  METHOD_NOT_ALLOWED: {
    meaning: 'The path exists, but not with this method.',
    remedy: 'Use one of the methods that the header Allow lists.',
  },
  IDEMPOTENCY_CONFLICT: {
    meaning: 'The Idempotency-Key was used before, for a request with another body.',
    remedy: 'Use a new key for each new request, and the same only to repeat one.',
  },
  RANGE_NOT_SATISFIABLE: {
    meaning: 'The range that was asked for begins behind the end of the result.',
    remedy: 'Ask for a range inside the length that Content-Range gives.',
  },
  SERVER_NOT_STARTED: {
    meaning:
      'The server could not listen: the address is taken or not allowed, or a certificate cannot be read.',
    remedy: 'Do what the message says.',
  },
  SERVER_UNREACHABLE: {
    meaning: 'A server that should be running does not answer.',
    remedy: 'Look at its log, or stop it and try again.',
  },
} as const satisfies ErrorTable;
