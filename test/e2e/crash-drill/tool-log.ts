import { readFileSync, statSync } from 'node:fs';

type Word = 'start' | 'end' | 'fail';

/** What the tools themselves have noted: the truth that the journal is compared with. */
export interface Note {
  readonly word: Word;
  /** `batch/id`. */
  readonly key: string;
}

/** What became of one task, by its own notes. */
export interface Trail {
  readonly starts: number;
  readonly fails: number;
  readonly last: Word;
  /** The place of its last note among all. */
  readonly at: number;
}

export function readNotes(file: string): Note[] {
  const text = readFileSync(file, 'utf8');
  return text.split('\n').flatMap((line) => {
    if (line === '') return [];
    const [word, key, ...rest] = line.split(' ');
    if (key === undefined || rest.length > 0 || !['start', 'end', 'fail'].includes(word!))
      throw new Error(`The tools have noted something odd: ${line}`);
    return [{ word: word as Word, key }];
  });
}

export function sizeOf(file: string): number {
  return statSync(file).size;
}

export function trailsIn(notes: readonly Note[]): Map<string, Trail> {
  const trails = new Map<string, Trail>();
  for (const [at, { word, key }] of notes.entries()) {
    const { starts = 0, fails = 0 } = trails.get(key) ?? {};
    trails.set(key, {
      starts: starts + (word === 'start' ? 1 : 0),
      fails: fails + (word === 'fail' ? 1 : 0),
      last: word,
      at,
    });
  }
  return trails;
}
