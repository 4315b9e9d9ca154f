import type { BatchExecutor } from '../batch/batch-executor.ts';
import type { BatchView } from '../batch/view.ts';
import { VolleyError } from '../core/errors.ts';

/** How a batch stands; an error if there is none of that name. */
export function viewOf(executor: BatchExecutor, batch: string): BatchView {
  const view = executor.view(batch);
  if (view !== undefined) return view;
  throw new VolleyError(
    'UNKNOWN_BATCH',
    `There is no batch ${JSON.stringify(batch)}; volley list shows all.`,
    {
      batch,
    },
  );
}
