import type { TaskBudget } from '../config/config.ts';
import { countText } from '../core/words.ts';
import type { AgentUsage } from './adapter.ts';

export function sumUsage(parts: Iterable<AgentUsage>): AgentUsage {
  const sum: { -readonly [K in keyof AgentUsage]: AgentUsage[K] } = {};
  for (const part of parts) {
    for (const key of ['turns', 'inputTokens', 'outputTokens', 'costUsd'] as const) {
      if (part[key] !== undefined) sum[key] = (sum[key] ?? 0) + part[key];
    }
  }
  return sum;
}

function totalTokens({ inputTokens, outputTokens }: AgentUsage): number | undefined {
  return inputTokens === undefined && outputTokens === undefined
    ? undefined
    : (inputTokens ?? 0) + (outputTokens ?? 0);
}

/** Describes the limit that is exceeded; undefined if none is. */
export function budgetExceeded(usage: AgentUsage, { turns, tokens, cost }: TaskBudget): string | undefined {
  const used = totalTokens(usage);
  if (turns !== undefined && (usage.turns ?? 0) > turns) return `${usage.turns} turns of ${turns} allowed`;
  if (tokens !== undefined && (used ?? 0) > tokens) return `${used} tokens of ${tokens} allowed`;
  if (cost !== undefined && (usage.costUsd ?? 0) > cost)
    return `${costText(usage.costUsd!)} of ${costText(cost)} allowed`;
  return undefined;
}

/** `$0.42`, with more digits below ten cents. */
export function costText(dollars: number): string {
  return `$${dollars < 0.1 ? dollars.toFixed(4) : dollars.toFixed(2)}`;
}

/** `14 turns, 48210 tokens, $0.42`; empty if nothing is known. */
export function usageText(usage: AgentUsage): string {
  const tokens = totalTokens(usage);
  return [
    ...(usage.turns === undefined ? [] : [countText(usage.turns, 'turn')]),
    ...(tokens === undefined ? [] : [countText(tokens, 'token')]),
    ...(usage.costUsd === undefined ? [] : [costText(usage.costUsd)]),
  ].join(', ');
}
