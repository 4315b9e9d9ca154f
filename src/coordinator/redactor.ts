import { assignedSecrets } from './redaction/assignments.ts';
import { EnvironmentSecrets } from './redaction/environment-secrets.ts';
import { type IsSecretName, secretNames } from './redaction/names.ts';
import { percentDecoded } from './redaction/percent-decoded.ts';
import { shapedSecrets } from './redaction/shapes.ts';
import { type Span, without } from './redaction/span.ts';

/** How far beyond the visible part a text is searched, so that no secret is cut in half and half shown. */
const MARGIN = 8192;

export interface RedactorOptions {
  /** Globs of names whose values are secret: of environment variables, and of fields inside texts. */
  readonly names: readonly string[];
  /** How much of a text is shown. */
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

  private readonly lookAgain = (): void => {
    this.hasLooked = false;
  };

  private secretsIn(text: string): Span[] {
    const spans: Span[] = [
      ...shapedSecrets(text),
      ...assignedSecrets(text, this.isSecretName),
      ...this.variablesIn(text),
    ];
    const decoded = percentDecoded(text);
    if (decoded === undefined) return spans;
    const found = [...shapedSecrets(decoded.text), ...this.variablesIn(decoded.text)];
    return [...spans, ...found.map((span) => decoded.source(span))];
  }

  private variablesIn(text: string): Span[] {
    const spans: Span[] = [];
    for (const secret of this.environment.all())
      for (let at = text.indexOf(secret); at !== -1; at = text.indexOf(secret, at + secret.length))
        spans.push([at, at + secret.length]);
    return spans;
  }
}
