import { DEFAULTS } from '../defaults.ts';
import { globRule, table, textList, wholeNumber } from './kinds.ts';

const defaults = DEFAULTS.secrets;

export const secretsSection = table(
  'What never leaves the process in progress events and error texts: values of environment variables and fields with secret names, and tokens of well-known shapes. Values of variables and tokens are found in base64, hexadecimal digits and percent-encoding, too. Results of tools are data and stay as they are.',
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
