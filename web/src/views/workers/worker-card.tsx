import type { JSX } from 'preact';
import { numberText } from '../../../../src/cli/output/numbers.ts';
import { RESOURCE_TABLE } from '../../../../src/core/resource-table.ts';
import { countText, spanText } from '../../../../src/core/words.ts';
import { post } from '../../api/http.ts';
import type { Workers } from '../../api/wire.ts';
import { STATUS_TEXT } from '../../model/status.ts';
import { act } from '../../ui/actions.ts';
import { Fact } from '../machine/card.tsx';

type Worker = Workers['workers'][number];

/** More would make the card longer than the page. */
const SHOWN_CALLS = 8;

const NAMES: Readonly<Record<string, string>> = {
  concurrency: 'Calls at once',
  agents: 'Agents at once',
  ...Object.fromEntries(RESOURCE_TABLE.map(({ wireNeed, label }) => [wireNeed, label])),
};

const STATE_TEXT: Readonly<Record<Worker['state'], string>> = {
  joining: 'Joining',
  ready: 'Ready',
  draining: 'Draining',
  lost: 'Lost',
};

/** One worker: its state, its use, and the calls that it has. */
export function WorkerCard({ worker, mayDrain }: { worker: Worker; mayDrain: boolean }): JSX.Element {
  const { name, state, host, pid, version, labels, tools, last_heard_ms, use, spare, ended } = worker;
  const { agents, repositories } = worker;
  const named = Object.entries(labels);
  return (
    <article class="card worker" aria-label={`Worker ${name}`}>
      <header class="worker-head">
        <h2>{name}</h2>
        <span class={`worker-state is-${state}`}>{STATE_TEXT[state]}</span>
        <span class="spring" />
        {mayDrain && state === 'ready' && (
          <button
            type="button"
            class="button"
            aria-label={`Drain ${name}`}
            title="Let it finish its calls and leave"
            onClick={() => void drain(name)}
          >
            Drain
          </button>
        )}
      </header>
      <p class="quiet">
        {host}, process {pid}, Volley {version}, {countText(tools, 'tool')}, heard{' '}
        {last_heard_ms < 1000 ? 'just now' : `${spanText(Math.floor(last_heard_ms / 1000) * 1000)} ago`}
      </p>
      {named.length > 0 && (
        <ul class="worker-labels" aria-label="Labels">
          {named.map(([label, value]) => (
            <li key={label}>
              {label}={String(value)}
            </li>
          ))}
        </ul>
      )}
      {agents.length > 0 && (
        <p class="quiet">
          Agents: {agents.join(', ')}. Clones: {repositories.join(', ') || 'none'}.
        </p>
      )}
      <div class="worker-uses">
        {use.map((each) => (
          <Use key={each.name} use={each} />
        ))}
      </div>
      <dl class="facts">
        {(['completed', 'failed', 'cancelled'] as const).map((status) => (
          <Fact key={status} name={STATUS_TEXT[status]}>
            {numberText(ended[status] ?? 0)}
          </Fact>
        ))}
        {spare > 0 && <Fact name="Spare calls allowed">{numberText(spare)}</Fact>}
      </dl>
      <Calls worker={worker} />
    </article>
  );
}

function Use({ use: { name, used, limit } }: { use: Worker['use'][number] }): JSX.Element {
  const label = NAMES[name] ?? name;
  return (
    <div class="worker-use">
      <span>{label}</span>
      <div
        class="bar is-small"
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={limit}
        aria-valuenow={Math.min(used, limit)}
      >
        <div
          class="worker-used"
          style={{ width: `${limit === 0 ? 0 : Math.min(100, (used / limit) * 100)}%` }}
        />
      </div>
      <span class="number">
        {amount(used)} of {amount(limit)}
      </span>
    </div>
  );
}

/** The ids are those of executions, `batch#3/task`; the number of the submission means nothing to people. */
function Calls({ worker: { calls, running } }: { worker: Worker }): JSX.Element {
  if (running === 0) return <p class="quiet">No calls.</p>;
  const shown = calls.slice(0, SHOWN_CALLS);
  return (
    <ul class="worker-calls" aria-label="Calls">
      {shown.map(({ id, function: name }) => (
        <li key={id}>
          <code>{id.replace(/#\d+\//, '/')}</code> <span class="quiet">{name}</span>
        </li>
      ))}
      {running > shown.length && <li class="quiet">and {numberText(running - shown.length)} more</li>}
    </ul>
  );
}

function amount(value: number): string {
  return numberText(Number(value.toFixed(1)));
}

async function drain(name: string): Promise<void> {
  if (!window.confirm(`Let ${name} finish its calls and leave?`)) return;
  await act(async () => {
    await post(`workers/${encodeURIComponent(name)}/drain`);
    return `${name} finishes its calls and leaves.`;
  });
}
