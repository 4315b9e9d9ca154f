import type { LimitReport, Outage } from '../engine/tool-failure.ts';

/** Only the end of a string is read: an error stands there, and a service may send much. */
const MAX_READ = 8000;
/** A reset that is past by less than this is not the one of tomorrow. */
const JUST_PAST_MS = 2 * 3_600_000;
const DAY_MS = 24 * 3_600_000;

/**
 * Phrases by which services and coding agents say that a rate limit or a usage limit refused a request. They must not
 * match what an agent says about rate limits in its own work.
 */
const LIMITS: readonly RegExp[] = [
  /\busage limit (?:has been )?reached\b/i,
  /\byou(?:['’]ve| have) (?:hit|reached|exceeded|exhausted) (?:your|the) (?:[\w-]+ ){0,3}(?:limit|quota|capacity)\b/i,
  /^\W*limit reached\b.{0,10}\breset/im,
  /\bwould exceed your (?:account|organization)['’]s rate limit\b/i,
  /\brate_limit_(?:error|exceeded)\b|\brateLimitExceeded\b|\bRATE_LIMIT_EXCEEDED\b|\bRESOURCE_EXHAUSTED\b/,
  /\bresource (?:has been )?exhausted\b/i,
  /\b(?:you exceeded your current|free allocated) quota\b|\bquota exceeded for (?:quota )?metric\b/i,
  /\b429\b\W{0,4}(?:too many requests|status code|rate limit|quota|resource|\{)/i,
  /\b(?:status|status code|code|error)["']?\s*[:=]?\s*429\b/i,
  /\btoo many requests\b/i,
  /\boverloaded_error\b|\bstatus(?: code)?:? 529\b/i,
];

const OUTAGES: readonly (readonly [Outage, RegExp])[] = [
  ['billing', /\binsufficient_quota\b|\bcredit balance is too low\b|\bpayment required\b/i],
  [
    'auth',
    /\b(?:invalid|incorrect) api key\b|\binvalid_api_key\b|\bapi key not valid\b|\bauthentication_error\b|\bplease run \/login\b|\bnot logged in\b|\b401 unauthorized\b|\boauth token (?:has )?(?:expired|been revoked)\b/i,
  ],
  [
    'network',
    /\bEAI_AGAIN\b|\bENETUNREACH\b|\bENETDOWN\b|\bgetaddrinfo ENOTFOUND\b|\bnetwork is unreachable\b|\berror sending request for url\b|\bunable to connect to api\b/i,
  ],
];

/** What an error text says of a limit. `now` is the time of day in milliseconds since 1970. Undefined if nothing. */
export function limitInText(text: string, now: number): Pick<LimitReport, 'resetAt'> | undefined {
  const end = text.slice(-MAX_READ);
  if (/\binsufficient_quota\b/.test(end) || !LIMITS.some((limit) => limit.test(end))) return undefined;
  const resetAt = resetInText(end, now);
  return resetAt === undefined ? {} : { resetAt };
}

/** The outside reason that an error text names, if every call would fail of it. */
export function outageInText(text: string): Outage | undefined {
  const end = text.slice(-MAX_READ);
  return OUTAGES.find(([, pattern]) => pattern.test(end))?.[0];
}

/** The wait of a `Retry-After` header: seconds, or a date. */
export function retryAfterMs(header: string | null | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * 1000;
  // Date.parse takes nearly anything for a date.
  if (!/^[A-Z][a-z]{2,8}, .*GMT$/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

/** When a limit resets, in any of the forms that services use. */
export function resetInText(text: string, now: number): number | undefined {
  for (const read of [unixTime, spanAfter, calendarTime, clockTime]) {
    const at = read(text, now);
    if (at !== undefined && Number.isFinite(at)) return at;
  }
  return undefined;
}

/** `usage limit reached|1749924000`, `"resets_at": 1749924000` */
function unixTime(text: string): number | undefined {
  const found = /(?:\breached\|| reset\|?|"resets?_at"\s*:\s*|\breset[^|\n]{0,20}\|)(\d{10})(\d{3})?\b/i.exec(
    text,
  );
  return found === null ? undefined : Number(found[1]) * 1000 + Number(found[2] ?? 0);
}

/** `try again in 5 days 22 hours 11 minutes`, `"retryDelay": "34s"`, `retry-after: 30`, `"resets_in_seconds": 90` */
function spanAfter(text: string, now: number): number | undefined {
  const seconds = /(?:"resets?_in_seconds"|\bretry-after(?:-s)?)["']?\s*[:=]\s*["']?(\d+(?:\.\d+)?)/i.exec(
    text,
  );
  if (seconds !== null) return now + Number(seconds[1]) * 1000;
  const found =
    /(?:\b(?:try again|retry(?:ing)?|resets?|available)(?: again)? (?:in|after)|"retryDelay"\s*:)\s*"?((?:\d+(?:\.\d+)?\s*(?:ms|[a-z]+)[\s,]*(?:and\s+)?){1,5})/i.exec(
      text,
    );
  const spanMs = found === null ? undefined : spanOf(found[1]!);
  return spanMs === undefined ? undefined : now + spanMs;
}

const UNITS: readonly (readonly [RegExp, number])[] = [
  [/^(?:ms|millis\w*)$/i, 1],
  [/^(?:s|secs?|seconds?)$/i, 1000],
  [/^(?:m|mins?|minutes?)$/i, 60_000],
  [/^(?:h|hrs?|hours?)$/i, 3_600_000],
  [/^(?:d|days?)$/i, DAY_MS],
];

/** Up to the first word that is no unit. */
function spanOf(text: string): number | undefined {
  let sum: number | undefined;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)/gi)) {
    const ms = UNITS.find(([pattern]) => pattern.test(unit!))?.[1];
    if (ms === undefined) break;
    sum = (sum ?? 0) + Number(amount) * ms;
  }
  return sum;
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** `reset at 2026-07-30 16:11:46 +0800`, `try again at Jul 5th, 2026 8:19 PM` */
function calendarTime(text: string): number | undefined {
  const iso =
    /\b(?:reset\w*|again) (?:at|on)\s+(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d))?(?:\.\d+)?\s*(Z|[+-]\d\d:?\d\d)?/i.exec(
      text,
    );
  if (iso !== null) {
    const [, year, month, day, hour, minute, second = '00', zone = ''] = iso;
    const offset = zone.replace(/^([+-]\d\d):?(\d\d)$/, '$1:$2');
    return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}${offset}`);
  }
  const named =
    /\b(?:reset\w*|again) (?:at|on)\s+([a-z]{3})[a-z]* (\d{1,2})(?:st|nd|rd|th)?,? (\d{4}),? (\d{1,2}):(\d\d) ?([ap]m)/i.exec(
      text,
    );
  if (named === null) return undefined;
  const [, month, day, year, hour, minute, half] = named;
  const place = MONTHS.indexOf(month!.toLowerCase());
  if (place < 0) return undefined;
  return new Date(Number(year), place, Number(day), hourOf(hour!, half!), Number(minute)).getTime();
}

function hourOf(hour: string, half: string): number {
  return (Number(hour) % 12) + (half.toLowerCase() === 'pm' ? 12 : 0);
}

/** `resets 11:30am (Asia/Calcutta)`, `will reset at 3pm`, `resets Oct 6, 1pm (Europe/Berlin)` */
function clockTime(text: string, now: number): number | undefined {
  const found =
    /\b(?:resets?|try again)(?: at| on)? (?:([a-z]{3})[a-z]* (\d{1,2})(?:,| at) ?)?(\d{1,2})(?::(\d\d))? ?([ap]m)\b(?: \(([\w+/-]{1,40})\))?/i.exec(
      text,
    );
  if (found === null) return undefined;
  const [, month, day, hour, minute = '0', half, zone] = found;
  const today = partsIn(now, zone);
  if (today === undefined) return undefined;
  const at = { ...today, hour: hourOf(hour!, half!), minute: Number(minute), second: 0 };
  const place = MONTHS.indexOf((month ?? '').toLowerCase());
  if (place >= 0) return instantOf({ ...at, month: place + 1, day: Number(day) }, zone);
  const next = instantOf(at, zone);
  if (next === undefined || next >= now) return next;
  return now - next < JUST_PAST_MS ? now : next + DAY_MS;
}

interface DateParts {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

/** The date and the time of day in a time zone, by default that of this machine. Undefined if there is no such zone. */
function partsIn(at: number, zone: string | undefined): DateParts | undefined {
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      ...(zone !== undefined && { timeZone: zone }),
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const [year, month, day] = [parts.get('year')!, parts.get('month')!, parts.get('day')!];
    return {
      year,
      month,
      day,
      hour: parts.get('hour')!,
      minute: parts.get('minute')!,
      second: parts.get('second')!,
    };
  } catch {
    return undefined;
  }
}

/** The moment at which clocks of the zone show this. */
function instantOf(parts: DateParts, zone: string | undefined): number | undefined {
  const { year, month, day, hour, minute, second } = parts;
  const wanted = Date.UTC(year, month - 1, day, hour, minute, second);
  let at = wanted;
  // The offset of the zone may change between the first guess and the moment itself.
  for (let round = 0; round < 2; round++) {
    const shown = partsIn(at, zone);
    if (shown === undefined) return undefined;
    const { year: y, month: m, day: d, hour: h, minute: min, second: s } = shown;
    at += wanted - Date.UTC(y, m - 1, d, h, min, s);
  }
  return at;
}
