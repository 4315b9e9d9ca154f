import { parseDocument } from 'yaml';
import { type FeatureDraft, invalid } from './draft.ts';
import { tooDeepAt } from './yaml-depth.ts';

const MAX_ALIASES = 100;
const DEEPEST = 100;

/** Reads a feature from YAML or JSON: the fields of `task.json`, `feature` for the folder, and `subtasks`. */
export function parseYaml(file: string, text: string): FeatureDraft {
  if (tooDeepAt(text, DEEPEST) !== undefined)
    throw invalid(`${file}: it is nested deeper than ${DEEPEST} levels.`);
  const document = parseDocument(text);
  const [fault] = document.errors;
  if (fault !== undefined) throw invalid(`${file}: ${fault.message}`);
  const data: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
  if (!isRecord(data)) throw invalid(`${file}: it must be a map with "name" and "subtasks".`);
  const { feature, subtasks, ...task } = data;
  if (!Array.isArray(subtasks) || !subtasks.every(isRecord)) {
    throw invalid(`${file}: "subtasks" must be a list of maps, each with a "title".`);
  }
  if (feature !== undefined && typeof feature !== 'string')
    throw invalid(`${file}: "feature" must be a text.`);
  return { feature, task, subtasks };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
