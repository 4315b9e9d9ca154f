import type { CallToolResult } from '@modelcontextprotocol/client';
import { connect, DOWNSTREAM_PROGRAM, volleyProgram } from './programs.ts';

export interface Calls {
  /** Calls the tool so many times, each of which takes so long at least. */
  run(count: number, ms: number): Promise<void>;
  close(): Promise<void>;
}

/** All calls as one batch of Volley, whose client sees one call. */
export async function inOneBatch(): Promise<Calls> {
  const volley = volleyProgram();
  const client = await connect(volley.program);
  return {
    run: async (count, ms) => {
      const tasks = Array.from({ length: count }, () => ({ function: 'down.look', params: { ms } }));
      const answer = await client.callTool({
        name: 'run_batch',
        arguments: { tasks, max_concurrent: count },
      });
      const { counts } = (answer as CallToolResult).structuredContent as { counts: { completed: number } };
      if (counts.completed !== count) throw new Error(JSON.stringify(answer).slice(0, 1000));
    },
    close: async () => {
      await client.close();
      volley.remove();
    },
  };
}

/** The client itself, one call after another: what a model does that calls one tool in a turn. */
export async function oneAfterAnother(): Promise<Calls> {
  const client = await connect(DOWNSTREAM_PROGRAM);
  return {
    run: async (count, ms) => {
      for (let call = 0; call < count; call++) await client.callTool({ name: 'look', arguments: { ms } });
    },
    close: () => client.close(),
  };
}

/** The client itself, all calls at once. */
export async function inParallelByHand(): Promise<Calls> {
  const client = await connect(DOWNSTREAM_PROGRAM);
  return {
    run: async (count, ms) => {
      const calls = Array.from({ length: count }, () => client.callTool({ name: 'look', arguments: { ms } }));
      await Promise.all(calls);
    },
    close: () => client.close(),
  };
}
