import { DEFAULTS } from '../defaults.ts';
import { globRule, table, textList, wholeNumber } from './kinds.ts';

const defaults = DEFAULTS.secrets;

export const secretsSection = table(
  'What is removed from progress events and error messages: values of environment variables and fields with secret names, and tokens of well-known shapes. Values of variables and tokens are also found in base64, hexadecimal and percent-encoding. Tool results are data and are not changed.',
  {
    names: textList(
      {
        does: 'Globs of the names of environment variables and fields whose values are not shown. Naming some replaces these defaults.',
        default: defaults.names,
        examples: ['*_TOKEN', 'DATABASE_URL'],
      },
      globRule,
    ),
    max_text_length: wholeNumber({
      does: "How many characters of a tool's step or error text are handed on.",
      default: defaults.max_text_length,
      min: 16,
      max: 1_000_000,
    }),
  },
);
