import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { numberText } from '../../../../src/cli/output/numbers.ts';
import { spanText } from '../../../../src/core/words.ts';
import type { Statistics } from '../../api/wire.ts';
import type { Query } from '../../model/route.ts';
import { ReadError } from '../../ui/connection-bar.tsx';
import { Empty } from '../../ui/empty.tsx';
import { usePolled } from '../../ui/use-polled.ts';
import { Card, Fact } from './card.tsx';
import { FunctionTable } from './function-table.tsx';
import { McpServerCard } from './mcp-server-card.tsx';
import { UseChart } from './use-chart.tsx';

/** How much of the machine is in use, over the last ten minutes, against what may be used. */
export function MachinePage({ query }: { query: Query }): JSX.Element {
  const [statistics, error] = usePolled<Statistics>('statistics');
  useEffect(() => {
    document.title = 'Machine · Volley';
  }, []);
  return (
    <div class="page">
      {error !== undefined && <ReadError text={error.text} />}
      <h1 class="page-title">Machine</h1>
      <p class="quiet">
        What executions claim of it, over up to ten minutes. The dashed line is the limit; the dotted one is
        what the processes of calls and MCP servers really use.
      </p>
      {statistics === undefined ? (
        <p class="quiet">Reading the statistics…</p>
      ) : (
        <>
          <section class="charts" aria-label="Use of resources">
            {statistics.use.map((use, index) => (
              <UseChart key={use.name} use={use} index={index} statistics={statistics} />
            ))}
          </section>
          {statistics.use.length === 0 && <Empty title="No resource is limited" />}
          <FunctionTable statistics={statistics} sort={query['sort']} />
          <Totals statistics={statistics} />
        </>
      )}
    </div>
  );
}

function Totals({ statistics }: { statistics: Statistics }): JSX.Element {
  const { counts, submitted, retries, duration_ms, waiting_ms, event_loop_delay_ms, subscribers } =
    statistics;
  return (
    <div class="cards">
      <Card title="Executions since the server started">
        <Fact name="submitted">{numberText(submitted)}</Fact>
        {Object.entries(counts).map(([status, count]) => (
          <Fact key={status} name={status}>
            {numberText(count)}
          </Fact>
        ))}
        <Fact name="retries">{numberText(retries)}</Fact>
      </Card>
      <Card title="Time running">
        <Times times={duration_ms} />
      </Card>
      <Card title="Time waiting">
        <Times times={waiting_ms} />
      </Card>
      <Card title="Server">
        <Fact name="open streams">{numberText(subscribers)}</Fact>
        <Fact name="event loop delay, median">{spanText(event_loop_delay_ms.p50)}</Fact>
        <Fact name="event loop delay, 99 of 100">{spanText(event_loop_delay_ms.p99)}</Fact>
      </Card>
      {statistics.mcp_servers.map((server) => (
        <McpServerCard key={server.name} server={server} />
      ))}
    </div>
  );
}

const TIME_TEXT: Readonly<Record<string, string>> = {
  mean: 'mean',
  p50: 'median',
  p95: '95 of 100 within',
  p99: '99 of 100 within',
  max: 'longest',
};

function Times({ times }: { times: Readonly<Record<string, number>> }): JSX.Element {
  return (
    <>
      {Object.entries(times).map(([name, ms]) => (
        <Fact key={name} name={TIME_TEXT[name] ?? name}>
          {spanText(ms)}
        </Fact>
      ))}
    </>
  );
}
