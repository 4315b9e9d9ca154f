import type { VolleyConfig } from '../config/config.ts';
import type { SchedulerLimits } from '../core/scheduler-options.ts';

/** The limits of the configuration, as the scheduler on virtual time takes them. */
export function schedulerLimits({ limits }: VolleyConfig): SchedulerLimits {
  const { resources, tools, groups } = limits;
  return { ...resources, tools, groups };
}
