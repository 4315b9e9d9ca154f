import picomatch from 'picomatch';
import { z } from 'zod';
import { SECTIONS, type Settings } from './schema.ts';

/** Named one by one, so that the bundle leaves out the rest of zod. */
const LIBRARIES = {
  z: {
    array: z.array,
    boolean: z.boolean,
    enum: z.enum,
    number: z.number,
    record: z.record,
    strictObject: z.strictObject,
    string: z.string,
  },
  picomatch,
};

let whole: z.ZodType<Settings> | undefined;

/** Validates all of `volley.toml` and fills in the defaults. */
export function configSchema(): z.ZodType<Settings> {
  whole ??= z.strictObject(
    Object.fromEntries(
      Object.keys(SECTIONS).map((name) => [name, sectionSchema(name as keyof Settings).prefault({})]),
    ),
  ) as unknown as z.ZodType<Settings>;
  return whole;
}

/** Validates one section: building a section's schema takes as long as reading the file. */
export function sectionSchema(name: keyof Settings): z.ZodType {
  return SECTIONS[name].schema(LIBRARIES);
}
