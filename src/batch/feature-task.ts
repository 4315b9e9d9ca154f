import { VolleyError } from '../core/errors.ts';
import { DELEGATE_TOOL } from '../core/script-tools.ts';
import { shellQuote } from '../core/shell-quote.ts';
import type { NewTask } from '../store/records.ts';
import type { Store } from '../store/store.ts';

/** The subtask that a task delegates, if it does. */
function delegatedBy({ function: tool, params }: Pick<NewTask, 'function' | 'params'>) {
  if (tool !== DELEGATE_TOOL) return undefined;
  const { feature, seq } = JSON.parse(params) as Readonly<Record<string, unknown>>;
  return typeof feature === 'string' && typeof seq === 'string' ? { feature, seq } : undefined;
}

/** Where the transcript of a task that delegates a subtask is. */
export function transcriptHint(task: Pick<NewTask, 'function' | 'params'>): string | undefined {
  const found = delegatedBy(task);
  return found && `Its agent's transcript: volley tasks logs ${shellQuote(found.feature)} ${found.seq}`;
}

/** What to do about a task that delegates a subtask. Such a task cannot be retried by itself. */
export function featureHint(task: Pick<NewTask, 'function' | 'params'>): string | undefined {
  const found = delegatedBy(task);
  return found && `${transcriptHint(task)}\nContinue with: volley tasks run ${shellQuote(found.feature)}`;
}

async function featureOf(store: Pick<Store, 'tasks'>, batch: string) {
  const [first] = await store.tasks(batch, { limit: 1 });
  return first && delegatedBy(first);
}

/** Whether a batch is the run of a feature, which works in the files of its own process. */
export async function isFeatureBatch(store: Pick<Store, 'tasks'>, batch: string): Promise<boolean> {
  return (await featureOf(store, batch)) !== undefined;
}

/** Refuses to run a batch again that is the run of a feature. */
export async function refuseFeatureBatch(store: Pick<Store, 'tasks'>, batch: string): Promise<void> {
  const found = await featureOf(store, batch);
  if (found === undefined) return;
  const message = `The batch "${batch}" is a run of the feature ${found.feature}. Run what is left with volley tasks run ${shellQuote(found.feature)}.`;
  throw new VolleyError('FEATURE_BATCH', message, { batch, feature: found.feature });
}
