import type { EnvironmentVariables } from '../../config/environment.ts';
import type { IsSecretName } from './secret-names.ts';

/** Redacting shorter values would destroy texts without protecting anything. */
const MIN_VALUE_LENGTH = 6;

/** How many values are remembered. Tokens are replaced by new ones, and the old ones may still turn up in texts. */
const MAX_VALUES = 1000;

/** The path of a file or folder, as variables such as `SSH_KEY` may hold it. A random value has a digit. */
const PATH = /^(?:~|\.{1,2}|[A-Za-z]:)?(?:[\\/][A-Za-z._ -]+)+[\\/]?$/;

/** What shells keep under a name that elsewhere is that of a password. */
const WORKING_FOLDER = 'PWD';

/** The secrets that the environment holds or has held, in all the forms in which they turn up in texts. */
export class EnvironmentSecrets {
  private readonly judged = new Map<string, boolean>();
  private readonly current = new Map<string, string>();
  private readonly forms = new Map<string, readonly string[]>();

  constructor(
    private readonly env: EnvironmentVariables,
    private readonly isSecretName: IsSecretName,
  ) {
    this.refresh();
  }

  /** Takes in what has changed. Only names are listed, and only secret values read: this is done for every text. */
  refresh(): void {
    for (const name of Object.keys(this.env)) {
      if (!this.isSecret(name)) continue;
      const value = this.env[name];
      if (value === undefined || value === this.current.get(name)) continue;
      this.current.set(name, value);
      this.remember(value);
    }
  }

  /** One that was found elsewhere. */
  add(name: string, value: string): void {
    this.current.set(`added ${name}`, value);
    this.remember(value);
  }

  /** All texts to look for. */
  *all(): Generator<string, void, undefined> {
    for (const forms of this.forms.values()) yield* forms;
  }

  /** The length of the longest of them. */
  longest(): number {
    let longest = 0;
    for (const form of this.all()) longest = Math.max(longest, form.length);
    return longest;
  }

  private isSecret(name: string): boolean {
    let secret = this.judged.get(name);
    if (secret === undefined) {
      secret = name !== WORKING_FOLDER && this.isSecretName(name);
      this.judged.set(name, secret);
    }
    return secret;
  }

  private remember(value: string): void {
    if (value.trim().length < MIN_VALUE_LENGTH || PATH.test(value)) return;
    this.forms.set(value, writtenForms(value));
    if (this.forms.size <= MAX_VALUES) return;
    const current = new Set(this.current.values());
    const oldest = [...this.forms.keys()].find((known) => !current.has(known));
    if (oldest !== undefined) this.forms.delete(oldest);
  }
}

/** Shorter parts of a value say too little to be removed on their own. */
const MIN_PART_LENGTH = 6;

/** Lines of a value that are shorter occur in other texts, too. */
const MIN_LINE_LENGTH = 16;

/** The forms in which a value may appear: unchanged, line by line, escaped or encoded. */
function writtenForms(value: string): string[] {
  const json = escaped(value);
  const hex = Buffer.from(value).toString('hex');
  const url = percentEncoded(value, /[A-Za-z0-9_.~-]/);
  const forms = [
    value,
    value.trim(),
    ...longLines(value),
    json,
    escaped(json),
    url,
    url.replaceAll('%20', '+'),
    url.replace(/%../g, (code) => code.toLowerCase()),
    // As `encodeURIComponent` and `encodeURI` do it: they leave more characters alone.
    percentEncoded(value, /[A-Za-z0-9_.~!'()*-]/),
    percentEncoded(value, /[A-Za-z0-9_.~!'()*;/?:@&=+$,#-]/),
    ...base64Forms(value),
    hex,
    hex.toUpperCase(),
  ];
  return [...new Set(forms)];
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function longLines(value: string): string[] {
  const lines = value.split('\n').map((line) => line.trim());
  // The first and the last line of a key in PEM are the same for everyone.
  return lines.filter((line) => line.length >= MIN_LINE_LENGTH && !line.startsWith('-----'));
}

function percentEncoded(value: string, plain: RegExp): string {
  return [...Buffer.from(value)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return plain.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

/** Base64 of the value alone, and what is the same for every text that holds it, by its three possible positions. */
function base64Forms(value: string): string[] {
  const cores = [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]);
    return bytes.toString('base64').slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6));
  });
  const forms = [Buffer.from(value).toString('base64'), ...cores];
  return [...forms, ...forms.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'))].filter(
    (form) => form.length >= MIN_PART_LENGTH,
  );
}
