import picomatch from 'picomatch';
import { z } from 'zod';
import { globProblem } from '../../core/glob.ts';

/** What every key says of itself, for the documentation and for editors. */
interface About<T> {
  /** What it does, in sentences for people. */
  readonly does: string;
  readonly default: T;
}

interface NumberAbout extends About<number> {
  readonly min: number;
  readonly max: number;
  /** Where the default depends on the machine: what it is, in words. */
  readonly defaultText?: string;
}

/** The longest text that a key takes. */
const MAX_TEXT = 1024;
/** The longest list that a key takes. */
const MAX_ITEMS = 1000;

export function wholeNumber(about: NumberAbout) {
  return described(z.number().int().min(about.min).max(about.max), about);
}

export function realNumber(about: NumberAbout) {
  return described(z.number().min(about.min).max(about.max), about);
}

export function flag(about: About<boolean>) {
  return z.boolean().default(about.default).meta({ description: about.does });
}

export function choice<const T extends readonly [string, ...string[]]>(
  choices: T,
  about: About<NoInfer<T[number]>>,
) {
  return z
    .enum(choices)
    .default(about.default as never)
    .meta({ description: about.does });
}

export function text(about: About<string>) {
  return z.string().min(1).max(MAX_TEXT).default(about.default).meta({ description: about.does });
}

/** A list of texts, each of which must pass `check`; it returns what is valid, such as `must be a host name`. */
export function textList(
  about: About<readonly string[]> & { readonly examples: readonly string[]; readonly min?: number },
  check: (text: string) => string | undefined = () => undefined,
) {
  const item = z
    .string()
    .min(1)
    .max(MAX_TEXT)
    .superRefine((text, context) => {
      const rule = check(text);
      if (rule !== undefined) context.addIssue({ code: 'custom', message: rule });
    });
  return z
    .array(item)
    .min(about.min ?? 0)
    .max(MAX_ITEMS)
    .default(() => [...about.default])
    .meta({ description: about.does, examples: [about.examples] });
}

/** A table; its description introduces it in the documentation. */
export function table<T extends z.core.$ZodLooseShape>(description: string, shape: T) {
  return z.strictObject(shape).meta({ description });
}

/** Whether a glob is well formed: what is valid, or undefined. */
export function globRule(glob: string): string | undefined {
  const problem = globProblem(glob);
  if (problem !== undefined) return `must be a simpler glob, for it ${problem}`;
  try {
    picomatch.makeRe(glob, { strictBrackets: true });
    return undefined;
  } catch {
    return 'must be a well-formed glob (every bracket that is opened is closed)';
  }
}

function described(type: z.ZodNumber, about: NumberAbout) {
  const { does: description, defaultText } = about;
  return type.default(about.default).meta({ description, ...(defaultText !== undefined && { defaultText }) });
}
