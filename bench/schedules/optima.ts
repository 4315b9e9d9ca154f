/**
 * The shortest schedules of the projects, by size, where they are proven: the schedule is as long as the lower bound, or
 * Gecode (through MiniZinc) has shown that there is none shorter by one. `null` where it had no answer in time.
 */
export const PROJECT_OPTIMA: ReadonlyMap<number, readonly (number | null)[]> = new Map();
