import type { Place } from '../../config/problems.ts';
import { unreachable } from '../../core/errors.ts';
import { type Source, taskFileError } from './fault.ts';
import type { TaskFormat } from './formats.ts';
import { parseJson, parseJsonLines } from './json-text.ts';
import { type DataPath, DataProblem, toPlainData } from './plain-data.ts';
import { parseTomlText } from './toml-text.ts';
import { parseYaml } from './yaml-text.ts';

/** What a text says. */
export interface Parsed {
  readonly data: unknown;
  /** Where a part of it stands, for messages. It is found when somebody asks, which takes as long as parsing. */
  readonly placeOf: (path: DataPath) => Place | undefined;
}

/** Reads a text as plain data, whatever its format. */
export function parseText(source: Source, format: TaskFormat): Parsed {
  const parsed = parseAs(source, format);
  try {
    return { ...parsed, data: toPlainData(parsed.data, source.text.length) };
  } catch (error) {
    if (!(error instanceof DataProblem)) throw error;
    throw taskFileError(source, error.message, parsed.placeOf(error.path), error);
  }
}

function parseAs(source: Source, format: TaskFormat): Parsed {
  switch (format) {
    case 'json':
      return parseJson(source);
    case 'jsonl':
      return parseJsonLines(source);
    case 'yaml':
      return parseYaml(source);
    case 'toml':
      return parseTomlText(source);
    default:
      return unreachable(format);
  }
}
