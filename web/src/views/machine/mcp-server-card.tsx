import type { JSX } from 'preact';
import { numberText } from '../../../../src/cli/output/numbers.ts';
import { spanText } from '../../../../src/core/words.ts';
import type { Statistics } from '../../api/wire.ts';
import { Card, Fact } from './card.tsx';

type McpServer = Statistics['mcp_servers'][number];

const STATUS_TEXT: Readonly<Record<McpServer['status'], string>> = {
  idle: 'not used yet',
  starting: 'starting',
  ready: 'ready',
  failed: 'failed',
  waiting: 'failed',
  closed: 'closed',
};

/** How one MCP server is. */
export function McpServerCard({ server }: { server: McpServer }): JSX.Element {
  const { name, status, tools, calls, failed_calls, restarts, problem, retry_in_ms } = server;
  return (
    <Card title={`MCP server ${name}`}>
      <Fact name="status">{STATUS_TEXT[status]}</Fact>
      <Fact name="tools">{numberText(tools)}</Fact>
      <Fact name="calls">{numberText(calls)}</Fact>
      <Fact name="calls that failed">{numberText(failed_calls)}</Fact>
      <Fact name="restarts">{numberText(restarts)}</Fact>
      {retry_in_ms !== null && <Fact name="next try in">{spanText(retry_in_ms)}</Fact>}
      {problem !== null && <Fact name="problem">{problem}</Fact>}
    </Card>
  );
}
