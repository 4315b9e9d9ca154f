import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { may } from '../../api/session.ts';
import type { Workers } from '../../api/wire.ts';
import { ReadError } from '../../ui/connection-bar.tsx';
import { Empty } from '../../ui/empty.tsx';
import { usePolled } from '../../ui/use-polled.ts';
import { WorkerCard } from './worker-card.tsx';

/** The machines of the cluster: who is there, what they offer, and what they hold. */
export function WorkersPage(): JSX.Element {
  const [answer, error] = usePolled<Workers>('workers');
  useEffect(() => {
    document.title = 'Workers · Volley';
  }, []);
  return (
    <div class="page">
      {error !== undefined && <ReadError text={error.text} />}
      <h1 class="page-title">Workers</h1>
      {answer === undefined && error === undefined && <p class="quiet">Reading the workers…</p>}
      {answer?.configured === false && (
        <Empty title="Everything runs on this machine">
          <p>
            To use others, set <code>cluster.url</code> in <code>volley.toml</code> and restart the server.
          </p>
        </Empty>
      )}
      {answer?.configured === true && answer.workers.length === 0 && (
        <Empty title="No workers">
          <p>
            Tasks wait until one joins: <code>volley worker --join URL</code>
          </p>
        </Empty>
      )}
      {answer !== undefined && answer.workers.length > 0 && (
        <section class="workers" aria-label="Workers">
          {answer.workers.map((worker) => (
            <WorkerCard key={`${worker.name} ${worker.pid}`} worker={worker} mayDrain={may('run')} />
          ))}
        </section>
      )}
    </div>
  );
}
