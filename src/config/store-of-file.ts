import { DEFAULTS, SECTIONS } from './schema.ts';
import { parseSource, readSource } from './source.ts';

/** Longer paths are left to the schema. */
const SURELY_SHORT = 256;

/**
 * What a file says of the place of the store. Undefined where the schema has to be asked: something is wrong that may
 * have to do with it, such as an unknown section that could be a misspelt one.
 */
export async function storeOfFile(file: string): Promise<string | undefined> {
  const parsed = parseSource((await readSource(file)).text);
  if (!('data' in parsed)) return undefined;
  const { data } = parsed;
  if (Object.keys(data).some((name) => !Object.hasOwn(SECTIONS, name))) return undefined;
  const { store = DEFAULTS.store } = data;
  if (Object.keys(store as object).join() !== 'file') return undefined;
  const { file: path } = store as { readonly file: unknown };
  return typeof path === 'string' && path.length > 0 && path.length < SURELY_SHORT ? path : undefined;
}
