import { extname } from 'node:path';
import { type FeatureDraft, invalid } from './draft.ts';
import { parseMarkdown } from './markdown.ts';
import { parseYaml } from './yaml.ts';

/** Reads the description of a feature; the ending of the file's name says how it is written. */
export function parseDescription(file: string, text: string): FeatureDraft {
  const draft = read(file, text);
  if (draft.task['name'] === undefined && draft.feature === undefined) {
    throw invalid(`${file}: the feature has no name: begin with "# Name", or "name:" in YAML.`);
  }
  if (draft.subtasks.length === 0) {
    throw invalid(
      `${file}: there are no subtasks: each begins with "## Title", or stands in "subtasks:" in YAML.`,
    );
  }
  return draft;
}

function read(file: string, text: string): FeatureDraft {
  switch (extname(file).toLowerCase()) {
    case '.md':
    case '.markdown':
      return parseMarkdown(text);
    case '.yaml':
    case '.yml':
    case '.json':
      return parseYaml(file, text);
    default:
      throw invalid(`${file}: a description ends in .md, .yaml or .json.`);
  }
}
