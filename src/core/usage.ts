import { type ResourceVector, SCALE } from './demand.ts';
import { checkNumber, checkObject } from './numbers.ts';
import { Sketch } from './sketch.ts';

/** What an attempt really used. */
export interface AttemptUsage {
  /** The peak of its memory in megabytes. */
  readonly memoryMb?: number;
  /** The cores it used on average: its CPU time divided by its duration. */
  readonly cpu?: number;
}

/** What attempts of a tool used of one resource. */
export interface UsageFigures {
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
}

/** What an execution holds of the resources that are measured. */
export interface MeasuredClaim {
  readonly cpu: number;
  readonly memoryMb: number;
  /** Whether one of them was not claimed and follows what was measured. */
  readonly isLearned: boolean;
}

/** The indexes of the resources that are measured. */
const CPU = 1;
const MEMORY = 2;
const MEASURED = [CPU, MEMORY] as const;

/** Old samples fade beyond this number. */
const RELEVANT_SAMPLES = 512;
/** Unclaimed needs follow this quantile. */
const QUANTILE = 0.95;
/** The next call may need a bit more memory than those before. */
const MEMORY_HEADROOM = 1.1;
/** CPU is rounded to a twentieth of a core: a call that keeps one core busy leaves all of the others. */
const CPU_STEP = SCALE / 20;
/** They go down only by more than this factor, so that a queue is not sorted again for nothing. */
const NOTABLE_DECREASE = 1.25;
const MAX_USED = 1e6;

/** Learns how much memory and how many cores the attempts of a tool really use. */
export class UsageModel {
  /** By the index of the resource. Memory is in megabytes, CPU in thousandths of a core. */
  private readonly sketches: (Sketch | undefined)[] = [];
  /** What unclaimed needs are, in thousandths; 0 while unknown. */
  private readonly claims = [0, 0, 0];

  /** What the last measured execution held. */
  claimed: MeasuredClaim | undefined;

  noteClaim(held: ResourceVector, learns: number): void {
    this.claimed = { cpu: held[CPU]! / SCALE, memoryMb: held[MEMORY]! / SCALE, isLearned: learns !== 0 };
  }

  get samples(): number {
    return Math.max(...MEASURED.map((index) => this.sketches[index]?.count ?? 0));
  }

  /** Records an attempt. Returns whether unclaimed needs changed. */
  learn({ memoryMb, cpu }: AttemptUsage): boolean {
    const changedCpu = cpu !== undefined && this.add(CPU, cpu * SCALE);
    const changedMemory = memoryMb !== undefined && this.add(MEMORY, memoryMb);
    return changedCpu || changedMemory;
  }

  figures(resource: 'cpu' | 'memoryMb'): UsageFigures | undefined {
    const sketch = this.sketches[resource === 'cpu' ? CPU : MEMORY];
    if (sketch === undefined) return undefined;
    const unit = resource === 'cpu' ? SCALE : 1;
    return {
      p50: sketch.quantile(0.5) / unit,
      p95: sketch.quantile(QUANTILE) / unit,
      max: sketch.max / unit,
    };
  }

  /** The same needs with what was learned in place of what was not claimed, never above a limit. */
  applyTo(needs: ResourceVector, learns: number, limits: readonly number[]): ResourceVector {
    const learned = [...needs];
    for (const index of MEASURED)
      if ((learns & (1 << index)) !== 0 && this.claims[index]! > 0)
        learned[index] = Math.min(this.claims[index]!, limits[index]!);
    return learned;
  }

  private add(index: (typeof MEASURED)[number], value: number): boolean {
    this.sketches[index] ??= new Sketch();
    const sketch = this.sketches[index];
    if (sketch.count >= RELEVANT_SAMPLES) sketch.decay();
    sketch.add(Math.max(1, Math.ceil(value)));
    const used = sketch.quantile(QUANTILE);
    const claim =
      index === CPU
        ? Math.max(1, Math.round(used / CPU_STEP)) * CPU_STEP
        : Math.ceil(used * MEMORY_HEADROOM) * SCALE;
    const before = this.claims[index]!;
    if (claim <= before && claim * NOTABLE_DECREASE >= before) return false;
    this.claims[index] = claim;
    return true;
  }
}

/** Which needs of a demand are unclaimed, as bits by index. */
export function unclaimed(resources: { readonly cpu?: number; readonly memoryMb?: number } = {}): number {
  return (resources.cpu === undefined ? 1 << CPU : 0) | (resources.memoryMb === undefined ? 1 << MEMORY : 0);
}

/** The needs of an execution that gets another amount of memory. */
export function withMemory(needs: ResourceVector, memoryMb: number): ResourceVector {
  return needs.with(MEMORY, Math.round(memoryMb * SCALE));
}

/** Whether that memory is within the limit. */
export function fitsMemory(memoryMb: number, limits: readonly number[]): boolean {
  return Math.round(memoryMb * SCALE) <= limits[MEMORY]!;
}

/** Without the mark that memory is unclaimed. */
export function claimsMemory(learns: number): number {
  return learns & ~(1 << MEMORY);
}

export function checkUsage(usage: AttemptUsage): void {
  checkObject('The usage of an attempt', usage);
  const { memoryMb, cpu } = usage;
  if (memoryMb !== undefined) checkNumber('memoryMb', memoryMb, { min: 0, max: MAX_USED * SCALE });
  if (cpu !== undefined) checkNumber('cpu', cpu, { min: 0, max: MAX_USED });
}
