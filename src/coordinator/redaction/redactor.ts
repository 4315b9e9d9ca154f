import { assignedSecrets } from './assigned-secrets.ts';
import { EnvironmentSecrets } from './environment-secrets.ts';
import { type IsSecretName, secretNames } from './secret-names.ts';
import { type SecretSpan, without } from './spans.ts';
import { shapedSecrets } from './token-shapes.ts';

/** How far beyond the visible part a string is searched, so that no secret is cut in half and half shown. */
const MARGIN = 8192;

export interface RedactorOptions {
  /** Globs of names whose values are secret: of environment variables, and of fields inside texts. */
  readonly names: readonly string[];
  /** How much of a string is shown. */
  readonly maxTextLength: number;
  /** Where the values are found. It may change. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Takes secrets out of texts that leave the process, and bounds their length. */
export class Redactor {
  private readonly isSecretName: IsSecretName;
  private readonly environment: EnvironmentSecrets;
  private readonly maxTextLength: number;
  private hasLooked = false;

  constructor({ names, maxTextLength, env }: RedactorOptions) {
    this.maxTextLength = maxTextLength;
    this.isSecretName = secretNames(names);
    this.environment = new EnvironmentSecrets(env, this.isSecretName);
  }

  /** Takes note of the secrets that the environment holds now: they may change. */
  refresh(): void {
    this.environment.refresh();
  }

  /** The same before a tool is called. Calls that begin in one turn of the event loop share a look: it takes longer than many a call. */
  refreshForCall(): void {
    if (this.hasLooked) return;
    this.refresh();
    this.hasLooked = true;
    setImmediate(this.lookAgain);
  }

  /** Takes note of a secret that the configuration names, whatever its name looks like. */
  add(name: string, value: string): void {
    this.environment.add(name, value);
  }

  text(text: string): string {
    this.refresh();
    const { maxTextLength } = this;
    const reach = maxTextLength + Math.max(MARGIN, this.environment.longest());
    const searched = text.slice(0, reach);
    // What a cut may have halved lies in the margin, and none of that is shown.
    const end = text.length > reach ? maxTextLength : text.length;
    const safe = without(searched, this.secretsIn(searched), end);
    if (safe.length <= maxTextLength && end === text.length) return safe;
    return `${safe.slice(0, maxTextLength)}… (${text.length} characters)`;
  }

  /** The whole text without secrets, however long it is. */
  whole(text: string): string {
    this.refresh();
    return without(text, this.secretsIn(text), text.length);
  }

  private readonly lookAgain = (): void => {
    this.hasLooked = false;
  };

  private secretsIn(text: string): SecretSpan[] {
    const spans: SecretSpan[] = [
      ...shapedSecrets(text),
      ...assignedSecrets(text, this.isSecretName),
      ...this.variablesIn(text),
    ];
    const decoded = percentDecoded(text);
    if (decoded === undefined) return spans;
    const found = [...shapedSecrets(decoded.text), ...this.variablesIn(decoded.text)];
    return [...spans, ...found.map((span) => decoded.source(span))];
  }

  private variablesIn(text: string): SecretSpan[] {
    const spans: SecretSpan[] = [];
    for (const secret of this.environment.all())
      for (let at = text.indexOf(secret); at !== -1; at = text.indexOf(secret, at + secret.length))
        spans.push([at, at + secret.length]);
    return spans;
  }
}

const ENCODED = /%[0-9a-f]{2}/i;
const PIECE = /%([0-9a-f]{2})/gi;

/** A string as it is without percent-encoding. */
interface PercentDecoded {
  readonly text: string;
  /** Where a part of the decoded text stands in the encoded one. */
  source(span: SecretSpan): SecretSpan;
}

/** Undefined where nothing is encoded. Bytes are taken one by one: tokens are ASCII. */
function percentDecoded(encoded: string): PercentDecoded | undefined {
  if (!ENCODED.test(encoded)) return undefined;
  const starts = new Uint32Array(encoded.length + 1);
  const pieces: string[] = [];
  let length = 0;
  let at = 0;
  const copy = (to: number) => {
    if (to > at) pieces.push(encoded.slice(at, to));
    for (; at < to; at++) starts[length++] = at;
  };
  for (const { 0: whole, 1: code, index } of encoded.matchAll(PIECE)) {
    copy(index);
    pieces.push(String.fromCharCode(Number.parseInt(code!, 16)));
    starts[length++] = index;
    at = index + whole.length;
  }
  copy(encoded.length);
  starts[length] = encoded.length;
  return { text: pieces.join(''), source: ([from, to]) => [starts[from]!, starts[to]!] };
}
