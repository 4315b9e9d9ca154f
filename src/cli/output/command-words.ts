import type { Io } from '../io.ts';
import { type CommandPlace, ownName, placeOptions } from './own-name.ts';

/**
 * The executor speaks to a model, of actions and fields. These sentences of its own, which end a line, are said to people
 * in commands and options. Everything else, above all what comes from tools, is left as it is.
 */
const SENTENCES: readonly (readonly [RegExp, string])[] = [
  [/^The next page has "cursor": (\d+)\.$/, 'The next page: --after $1'],
  [/^The next part begins at "offset": (\d+)\.$/, 'The next part: --offset $1'],
  [/^One result as a whole or in parts: "id".*$/, 'One result as a whole: --id ID'],
  [
    /^More: "format": "detailed" for a list in pages, "id" for/,
    'More: --format detailed for a list in pages, --id ID for',
  ],
  [
    /^See "results" for the reasons; "retry" opens/,
    '{volley} results{batch} tells the reasons, {volley} retry{batch} opens',
  ],
  [/"retry" of (\S+) opens both again\.$/, '{volley} retry{batch} --ids $1 opens both again.'],
  [/"retry" opens it again\.$/, '{volley} retry{batch} opens it again.'],
  [/ runs with the next "start"\.$/, ' runs with the next {volley} start{batch}.'],
  [/ Run it with "start"\.$/, ' Run it with: {volley} start{batch}'],
  [/The batch is not running: start it\.$/, 'The batch is not running: {volley} start{batch} runs it.'],
  [
    /died: "start" sees to it, and so does volley recover\.$/,
    'died: {volley} start{batch} or {volley} recover{config} sees to it.',
  ],
];

/** `place`: what the text is about, so that its commands can be typed as they stand. */
export function commandWords(text: string, place: CommandPlace, io: Pick<Io, 'env'>): string {
  const parts: Readonly<Record<string, string>> = {
    '{volley}': ownName(io),
    '{batch}': placeOptions(place),
    '{config}': placeOptions({ config: place.config }),
  };
  const sentences = SENTENCES.map(
    ([sentence, words]) =>
      [sentence, words.replace(/\{\w+\}/g, (part) => parts[part]!.replaceAll('$', '$$$$'))] as const,
  );
  return text
    .split('\n')
    .map((line) => sentences.reduce((said, [sentence, words]) => said.replace(sentence, words), line))
    .join('\n');
}
