import { setTimeout as pause } from 'node:timers/promises';
import { ParallelExecutionEngine } from 'volley';

const work = ({ signal }: { signal: AbortSignal }) => pause(10, undefined, { signal });

{
  // #region close
  const engine = new ParallelExecutionEngine();
  engine.submit({ toolName: 'step' }, work);
  await engine.drain(); // Nothing is left to do; the engine goes on.
  engine.submit({ toolName: 'step' }, work);
  await engine.close(); // Takes no more work, and waits for what there is.
  // #endregion close
}

{
  const engine = new ParallelExecutionEngine();
  engine.submit({ toolName: 'step' }, work);
  // #region give-up
  await engine.close({ cancel: true }); // The same, but cancels what there is.
  // #endregion give-up
}

// #region using
{
  await using engine = new ParallelExecutionEngine();
  engine.submit({ toolName: 'step' }, work);
} // Closed here, when its work is done.
// #endregion using
