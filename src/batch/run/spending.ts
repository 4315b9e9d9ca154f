import { costText } from '../../agents/usage.ts';
import { countText } from '../../core/words.ts';
import type { Spending } from '../../runners/runner.ts';
import type { StoredSpending } from '../../store/records.ts';

/** What the models and agents of a batch may cost, over all its runs. */
export type Budget = { readonly costUsd: number } | { readonly tokens: number };

const BUDGET = /^(?:\$?(\d+(?:\.\d+)?)|(\d+(?:\.\d+)?) ?([kM]?) ?tokens?)$/;
const MULTIPLES: Readonly<Record<string, number>> = { '': 1, k: 1000, M: 1_000_000 };
const NOTHING: StoredSpending = { calls: 0, inputTokens: 0, outputTokens: 0, costUsd: 0, unpriced: 0 };

/** Reads `5` (US dollars) or `200k tokens`. Returns undefined for anything else, and for nothing to spend. */
export function parseBudget(text: string): Budget | undefined {
  const [, dollars, tokens, multiple = ''] = BUDGET.exec(text.trim()) ?? [];
  if (dollars !== undefined) return Number(dollars) > 0 ? { costUsd: Number(dollars) } : undefined;
  const count = Math.floor(Number(tokens ?? 0) * MULTIPLES[multiple]!);
  return count > 0 ? { tokens: count } : undefined;
}

/** Adds up what the calls of a batch cost, and says when the budget is used up. */
export class SpendingMeter {
  constructor(
    private readonly budget: Budget | undefined,
    private total: StoredSpending = NOTHING,
  ) {}

  add({ inputTokens, outputTokens, costUsd }: Spending): void {
    const { total } = this;
    this.total = {
      calls: total.calls + 1,
      inputTokens: total.inputTokens + inputTokens,
      outputTokens: total.outputTokens + outputTokens,
      costUsd: total.costUsd + (costUsd ?? 0),
      unpriced: total.unpriced + (costUsd === undefined ? 1 : 0),
    };
  }

  /** Why no more calls may start; undefined if they may. */
  get exhausted(): string | undefined {
    const { budget, total } = this;
    if (budget === undefined) return undefined;
    if ('tokens' in budget) {
      const used = total.inputTokens + total.outputTokens;
      return used < budget.tokens
        ? undefined
        : `The budget of ${countText(budget.tokens, 'token')} is used up (${used}).`;
    }
    // A limit that cannot be held must not look as if it were.
    if (total.unpriced > 0)
      return 'A budget in dollars cannot be enforced: the model or agent does not report its cost. Use a budget such as "200k tokens", or set the prices of the model under [models.NAME].';
    return total.costUsd < budget.costUsd
      ? undefined
      : `The budget of ${costText(budget.costUsd)} is used up (${costText(total.costUsd)}).`;
  }
}

/** `12 calls, 48210 tokens, $0.42`. */
export function spendingText({
  calls,
  inputTokens,
  outputTokens,
  costUsd,
  unpriced,
}: StoredSpending): string {
  const cost = unpriced === calls ? [] : [`${costText(costUsd)}${unpriced > 0 ? ' or more' : ''}`];
  return [countText(calls, 'call'), countText(inputTokens + outputTokens, 'token'), ...cost].join(', ');
}

/** As interfaces report it. The cost is left out if that of no call is known. */
export function spendingFields({ calls, inputTokens, outputTokens, costUsd, unpriced }: StoredSpending): {
  readonly calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_usd?: number;
} {
  return {
    calls,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    ...(unpriced < calls && { cost_usd: Number(costUsd.toFixed(6)) }),
  };
}
