import type { Random } from '../../../src/core/random.ts';

/** A task of the drill, as the program is given it. */
export interface DrillTask {
  readonly id: string;
  readonly function: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly depends_on?: readonly string[];
  readonly on_dependency_failure?: 'run';
}

/** So many of a thousand. */
const SHARES = {
  plain: 560,
  flaky: 150,
  once: 170,
  threaded: 50,
  doomed: 25,
  child: 15,
  childOnce: 15,
  shell: 15,
} as const;

type Kind = keyof typeof SHARES;

const ONCE: ReadonlySet<string> = new Set<Kind>(['once', 'childOnce', 'shell']);
const DEPENDENT_SHARE = 0.4;
const LONGEST_MS = 50;
const REACH = 60;

/** Whether a task must not be started a second time. */
export function startsOnce({ function: tool }: Pick<DrillTask, 'function'>): boolean {
  return ONCE.has(tool);
}

/** A batch with tools of every kind, of which many depend on others. */
export function drillTasks(batch: string, size: number, log: string, random: Random): DrillTask[] {
  const below = (limit: number) => Math.floor(random() * limit);
  return Array.from({ length: size }, (_, index) => {
    const id = `t${index}`;
    const before = Math.min(index, REACH);
    const isDependent = before > 0 && random() < DEPENDENT_SHARE;
    const dependencies = Array.from({ length: 1 + below(3) }, () => `t${index - 1 - below(before)}`);
    return {
      ...taskOf(kindAt(below(1000)), id, { log, key: `${batch}/${id}`, ms: below(LONGEST_MS) }),
      ...(isDependent && { depends_on: [...new Set(dependencies)] }),
      ...(isDependent && random() < 0.3 && { on_dependency_failure: 'run' as const }),
    };
  });
}

function kindAt(number: number): Kind {
  let left = number;
  for (const [kind, share] of Object.entries(SHARES)) {
    if (left < share) return kind as Kind;
    left -= share;
  }
  return 'plain';
}

function taskOf(kind: Kind, id: string, params: { log: string; key: string; ms: number }): DrillTask {
  if (kind !== 'shell') return { id, function: kind, params };
  const { log, key, ms } = params;
  const command = `echo start ${key} >> ${log}; sleep ${ms / 1000}; echo end ${key} >> ${log}`;
  return { id, function: 'shell', params: { command } };
}
