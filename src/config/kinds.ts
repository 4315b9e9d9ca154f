import type picomatch from 'picomatch';
import type { z } from 'zod';
import { globProblem } from '../core/glob.ts';

/** The schema library, loaded only if there is a file. */
export interface Libraries {
  readonly z: Pick<typeof z, 'array' | 'boolean' | 'enum' | 'number' | 'record' | 'strictObject' | 'string'>;
  readonly picomatch: typeof picomatch;
}

/** A key of the file: its type, its default and what is valid. */
export interface Setting<T> {
  /** Undefined if there is no default. */
  readonly default: T | undefined;
  schema(libraries: Libraries): z.ZodType;
}

export type ValueOf<S> = S extends Setting<infer T> ? T : never;

// biome-ignore lint/suspicious/noExplicitAny: a shape holds settings of all types
type Shape = Readonly<Record<string, Setting<any>>>;

/** The value of a table. Keys that may be undefined are optional. */
type TableValue<S extends Shape> = {
  readonly [K in keyof S as undefined extends ValueOf<S[K]> ? never : K]: ValueOf<S[K]>;
} & { readonly [K in keyof S as undefined extends ValueOf<S[K]> ? K : never]?: ValueOf<S[K]> };

export interface Table<S extends Shape> extends Setting<TableValue<S>> {
  readonly default: TableValue<S>;
  readonly shape: S;
}

/** The documentation of a key. */
interface About<T> {
  /** What it does, in full sentences. */
  readonly does: string;
  readonly default: T;
}

interface NumberAbout {
  readonly does: string;
  readonly min: number;
  readonly max: number;
  /** The default in words, if it depends on the machine or there is none. */
  readonly defaultText?: string;
}

/** Returns what is valid, e.g. `must be a host name`, for an invalid string. */
type Rule = (text: string, libraries: Libraries) => string | undefined;

/** The maximum length of a string. */
const MAX_TEXT = 1024;
/** The maximum length of a list. */
const MAX_ITEMS = 1000;

export function wholeNumber(about: NumberAbout & About<number>): Setting<number> {
  return {
    default: about.default,
    schema: ({ z }) => described(limited(z.number().int(), about).default(about.default), about),
  };
}

export function realNumber(about: NumberAbout & About<number>): Setting<number> {
  return {
    default: about.default,
    schema: ({ z }) => described(limited(z.number(), about).default(about.default), about),
  };
}

/** A number without a default. */
export function optionalNumber(about: NumberAbout): Setting<number | undefined> {
  return {
    default: undefined,
    schema: ({ z }) => described(limited(z.number().int(), about).optional(), about),
  };
}

/** A required number. */
export function requiredNumber(about: NumberAbout): Setting<number> {
  return { default: undefined, schema: ({ z }) => described(limited(z.number().int(), about), about) };
}

export function flag({ does, default: value }: About<boolean>): Setting<boolean> {
  return { default: value, schema: ({ z }) => z.boolean().default(value).meta({ description: does }) };
}

/** A boolean without a default. */
export function optionalFlag(does: string, defaultText: string): Setting<boolean | undefined> {
  return {
    default: undefined,
    schema: ({ z }) => z.boolean().optional().meta({ description: does, defaultText }),
  };
}

export function choice<const T extends readonly [string, ...string[]]>(
  choices: T,
  { does, default: value }: About<NoInfer<T[number]>>,
): Setting<T[number]> {
  return {
    default: value,
    schema: ({ z }) =>
      z
        .enum(choices)
        .default(value as never)
        .meta({ description: does }),
  };
}

export function text({ does, default: value }: About<string>): Setting<string> {
  return {
    default: value,
    schema: ({ z }) => z.string().min(1).max(MAX_TEXT).default(value).meta({ description: does }),
  };
}

/** A string without a default. */
export function optionalText(
  does: string,
  {
    defaultText = 'none',
    max = 4096,
    rule = () => undefined,
  }: { readonly defaultText?: string; readonly max?: number; readonly rule?: Rule } = {},
): Setting<string | undefined> {
  return {
    default: undefined,
    schema: (libraries) =>
      libraries.z
        .string()
        .min(1)
        .max(max)
        .superRefine(refineBy(rule, libraries))
        .optional()
        .meta({ description: does, defaultText }),
  };
}

/** A required string. */
export function requiredText(does: string, max: number, rule: Rule): Setting<string> {
  return {
    default: undefined,
    schema: (libraries) =>
      libraries.z.string().max(max).superRefine(refineBy(rule, libraries)).meta({ description: does }),
  };
}

function refineBy(rule: Rule, libraries: Libraries) {
  return (value: string, context: z.core.$RefinementCtx) => {
    const message = rule(value, libraries);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  };
}

/** A list of strings, each of which must pass `rule`. */
export function textList(
  about: About<readonly string[]> & { readonly examples: readonly string[]; readonly min?: number },
  rule: Rule = () => undefined,
): Setting<readonly string[]> {
  return {
    default: about.default,
    schema: (libraries) => {
      const { z } = libraries;
      const item = z.string().min(1).max(MAX_TEXT).superRefine(refineBy(rule, libraries));
      return z
        .array(item)
        .min(about.min ?? 0)
        .max(MAX_ITEMS)
        .default(() => [...about.default])
        .meta({ description: about.does, examples: [about.examples] });
    },
  };
}

/** A list of strings without a default. */
export function optionalList(about: {
  readonly does: string;
  readonly examples: readonly string[];
  readonly defaultText: string;
  readonly min?: number;
  readonly maxText: number;
}): Setting<readonly string[] | undefined> {
  const { does: description, examples, defaultText, min, maxText } = about;
  return {
    default: undefined,
    schema: ({ z }) => {
      const list = z.array(z.string().min(1).max(maxText)).max(100);
      return (min === undefined ? list : list.min(min))
        .optional()
        .meta({ description, examples: [examples], defaultText });
    },
  };
}

/** A table; its description introduces it in the documentation. `refine` checks its keys against each other. */
export function table<const S extends Shape>(
  description: string,
  shape: S,
  refine?: (value: TableValue<S>, context: z.core.$RefinementCtx) => void,
): Table<S> {
  const entries = Object.entries(shape);
  return {
    shape,
    default: Object.fromEntries(
      entries.flatMap(([name, { default: value }]) => (value === undefined ? [] : [[name, value]])),
    ) as TableValue<S>,
    schema: (libraries) => {
      const parts = entries.map(([name, part]) => {
        const schema = part.schema(libraries);
        return [name, 'shape' in part ? schema.prefault({}) : schema];
      });
      const object = libraries.z.strictObject(Object.fromEntries(parts)).meta({ description });
      return refine === undefined ? object : object.superRefine(refine as never);
    },
  };
}

/** An optional table. */
export function optionalTable<S extends Shape>(part: Table<S>): Setting<TableValue<S> | undefined> {
  return { default: undefined, schema: (libraries) => part.schema(libraries).optional() };
}

/** The valid names in a table whose keys the user chooses. */
interface NameRule {
  readonly pattern?: RegExp;
  readonly valid: string;
}

/** A table whose keys the user chooses, each with a table as its value. */
export function tables<S extends Shape>(
  { pattern, valid }: NameRule,
  item: Table<S>,
): Setting<Readonly<Record<string, TableValue<S>>>> {
  return {
    default: {},
    schema: (libraries) => {
      const name = pattern ? libraries.z.string().regex(pattern) : libraries.z.string().min(1).max(256);
      return libraries.z.record(name.meta({ description: valid }), item.schema(libraries)).default({});
    },
  };
}

/** A table whose keys the user chooses, with strings as values. */
export function texts(
  description: string,
  { pattern, valid }: Required<NameRule>,
  does: string,
): Setting<Readonly<Record<string, string>>> {
  return {
    default: {},
    schema: ({ z }) =>
      z
        .record(
          z.string().regex(pattern).meta({ description: valid }),
          z.string().max(8192).meta({ description: does, defaultText: 'none' }),
        )
        .default({})
        .meta({ description }),
  };
}

/** An optional table whose keys the user chooses, with numbers as values. */
export function numbers(
  description: string,
  { valid, isValid }: { readonly valid: string; readonly isValid: (name: string) => boolean },
  about: NumberAbout,
): Setting<Readonly<Record<string, number>> | undefined> {
  return {
    default: undefined,
    schema: ({ z }) =>
      z
        .record(
          z.string().refine(isValid).meta({ description: valid }),
          described(limited(z.number(), about), about),
        )
        .optional()
        .meta({ description }),
  };
}

/** Returns what is wrong with a glob, or undefined. */
export function globRule(glob: string, { picomatch }: Libraries): string | undefined {
  const problem = globProblem(glob);
  if (problem !== undefined) return `must be a simpler glob: it ${problem}`;
  try {
    picomatch.makeRe(glob, { strictBrackets: true });
    return undefined;
  } catch {
    return 'must be a well-formed glob (with balanced brackets)';
  }
}

function limited(type: z.ZodNumber, { min, max }: NumberAbout): z.ZodNumber {
  return type.min(min).max(max);
}

function described<T extends z.ZodType>(type: T, { does, defaultText }: NumberAbout): T {
  return type.meta({ description: does, ...(defaultText !== undefined && { defaultText }) });
}
