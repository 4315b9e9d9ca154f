import { unreachable } from '../../../core/unreachable.ts';
import type { CharSet } from './char-set.ts';
import { type Assertion, PatternError, type PatternNode } from './syntax.ts';

/** One step of the machine that a pattern becomes; numbers are places in the program. */
export type Instruction =
  | { readonly kind: 'char'; readonly set: CharSet }
  | { readonly kind: 'assert'; readonly what: Assertion }
  | { readonly kind: 'fork'; readonly to: number[] }
  | { readonly kind: 'match' };

/** Each character of a text may cost as many steps as the program has. */
const LARGEST_PROGRAM = 500;

/** Instructions follow each other but for forks, which go on at all of their places at once. */
export function compile(node: PatternNode): readonly Instruction[] {
  const program: Instruction[] = [];
  emit(program, node);
  add(program, { kind: 'match' });
  return program;
}

function emit(program: Instruction[], node: PatternNode): void {
  switch (node.kind) {
    case 'char':
    case 'assert':
      add(program, node);
      break;
    case 'sequence':
      for (const part of node.parts) emit(program, part);
      break;
    case 'choice':
      emitChoice(program, node.options);
      break;
    case 'repeat':
      emitRepeat(program, node.part, node.min, node.max);
      break;
    default:
      unreachable(node);
  }
}

function emitChoice(program: Instruction[], options: readonly PatternNode[]): void {
  const entry = addFork(program);
  const exits: number[][] = [];
  for (const option of options) {
    entry.push(program.length);
    emit(program, option);
    exits.push(addFork(program));
  }
  for (const exit of exits) exit.push(program.length);
}

function emitRepeat(program: Instruction[], part: PatternNode, min: number, max: number): void {
  for (let count = 0; count < min; count++) emit(program, part);
  const exits: number[][] = [];
  const optional = max === Infinity ? 1 : max - min;
  for (let count = 0; count < optional; count++) {
    const start = program.length;
    const fork = addFork(program);
    fork.push(program.length);
    exits.push(fork);
    emit(program, part);
    if (max === Infinity) addFork(program).push(start);
  }
  for (const exit of exits) exit.push(program.length);
}

function addFork(program: Instruction[]): number[] {
  const to: number[] = [];
  add(program, { kind: 'fork', to });
  return to;
}

function add(program: Instruction[], instruction: Instruction): void {
  if (program.length >= LARGEST_PROGRAM) {
    throw new PatternError('The pattern is too large: use a shorter one, or smaller numbers in {…}.');
  }
  program.push(instruction);
}
