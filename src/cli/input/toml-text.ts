import { TomlError } from 'smol-toml';
import { parseToml } from '../../config/source.ts';
import { TomlPlaces } from '../../config/toml-places.ts';
import { isDeeperThan } from '../../core/depth.ts';
import { type Source, taskFileError } from './fault.ts';
import type { Parsed } from './parse.ts';
import { DEEPEST, TOO_DEEP } from './plain-data.ts';

export function parseTomlText(source: Source): Parsed {
  try {
    const data = parseToml(source.text);
    // Where each key of a name without end stands would take without end, too.
    if (isDeeperThan(data, DEEPEST)) throw taskFileError(source, TOO_DEEP);
    let places: TomlPlaces | undefined;
    return {
      data,
      placeOf: (path) => {
        places ??= new TomlPlaces(source.text);
        return places.find(path, 'value');
      },
    };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [what] = error.message.replace(/^Invalid TOML document: /, '').split('\n');
    const { line, column } = error;
    throw taskFileError(source, `this is not valid TOML: ${what}.`, { line, column, length: 1 }, error);
  }
}
