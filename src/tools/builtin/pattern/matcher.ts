import { unreachable } from '../../../core/unreachable.ts';
import { isWordCode } from './char-set.ts';
import { parseGlob } from './parse-glob.ts';
import { parseRegex } from './parse-regex.ts';
import { compile, type Instruction } from './program.ts';
import type { Assertion, PatternNode } from './syntax.ts';

/** Stands for the character after the last. */
const END = -1;

/** All that the text so far means for what can still match. */
interface State {
  /** Places in the program that are to be looked at before the next character. */
  readonly places: readonly number[];
  readonly isStart: boolean;
  readonly isAfterWord: boolean;
  /** What the next character leads to, by its code, as far as it is known. */
  readonly next: (State | undefined)[];
  /** Whether it will be met again under the same key. */
  readonly isKept: boolean;
}

const MOST_STATES = 500;
const REMEMBERED_CODES = 128;

/**
 * Tells whether a text holds a pattern, in time linear in the text: all ways through the pattern are followed at once
 * instead of one after the other, so that no pattern can run away. States that were seen are kept, up to a limit.
 */
export class Matcher {
  private readonly program: readonly Instruction[];
  private readonly states = new Map<string, State>();
  private readonly start: State;
  private readonly matched: State = {
    places: [],
    isStart: false,
    isAfterWord: false,
    next: [],
    isKept: true,
  };
  /** In which round a place was last looked at. */
  private readonly seen: Uint32Array;
  private round = 0;

  constructor(
    pattern: PatternNode,
    private readonly ignoreCase: boolean,
  ) {
    this.program = compile(pattern);
    this.seen = new Uint32Array(this.program.length);
    this.start = this.state([0], true, false, true);
  }

  test(text: string): boolean {
    let state = this.start;
    for (let index = 0; index < text.length; index++) {
      let code = text.charCodeAt(index);
      if (code >= 0xd800 && code < 0xdc00) {
        code = text.codePointAt(index)!;
        if (code > 0xffff) index++;
      }
      state = state.next[code] ?? this.step(state, code);
      if (state === this.matched) return true;
    }
    return this.step(state, END) === this.matched;
  }

  private step(state: State, code: number): State {
    const next = this.follow(state, code);
    const isKept = state.isKept && next.isKept && code >= 0 && code < REMEMBERED_CODES;
    if (isKept) state.next[code] = next;
    return next;
  }

  private follow(state: State, code: number): State {
    const isWord = code !== END && isWordCode(code);
    const after: number[] = [];
    const open = [...state.places];
    this.nextRound();
    for (let place = open.pop(); place !== undefined; place = open.pop()) {
      if (this.seen[place] === this.round) continue;
      this.seen[place] = this.round;
      const instruction = this.program[place]!;
      switch (instruction.kind) {
        case 'match':
          return this.matched;
        case 'fork':
          open.push(...instruction.to);
          break;
        case 'assert':
          if (holds(instruction.what, state, code, isWord)) open.push(place + 1);
          break;
        case 'char':
          if (code !== END && instruction.set.has(code, this.ignoreCase)) after.push(place + 1);
          break;
        default:
          unreachable(instruction);
      }
    }
    // A match may begin anywhere.
    after.push(0);
    return this.state(after, false, isWord, state.isKept);
  }

  /** Looking for a known state costs more than a step: where none can be expected it is left out. */
  private state(places: number[], isStart: boolean, isAfterWord: boolean, mayBeKnown: boolean): State {
    const fresh = { places, isStart, isAfterWord, next: [] };
    if (!mayBeKnown) return { ...fresh, isKept: false };
    places.sort((a, b) => a - b);
    const key = `${isStart ? '^' : isAfterWord ? 'w' : ''}${places.join()}`;
    const known = this.states.get(key);
    if (known !== undefined) return known;
    const state: State = { ...fresh, isKept: this.states.size < MOST_STATES };
    if (state.isKept) this.states.set(key, state);
    return state;
  }

  private nextRound(): void {
    if (++this.round < 0xffffffff) return;
    this.seen.fill(0);
    this.round = 1;
  }
}

function holds(what: Assertion, before: State, code: number, isWord: boolean): boolean {
  switch (what) {
    case 'start':
      return before.isStart;
    case 'end':
      return code === END;
    case 'word-edge':
      return before.isAfterWord !== isWord;
    case 'no-word-edge':
      return before.isAfterWord === isWord;
    default:
      return unreachable(what);
  }
}

/** Whether a text holds what a regular expression describes. Throws a {@link PatternError}. */
export function regexMatcher(text: string, ignoreCase: boolean): Matcher {
  return new Matcher(parseRegex(text), ignoreCase);
}

/** Whether a text is, as a whole, what a glob describes. Throws a {@link PatternError}. */
export function globMatcher(text: string): Matcher {
  return new Matcher(parseGlob(text), false);
}
