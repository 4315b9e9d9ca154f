import type { EventServer } from './input.ts';
import { plainServer } from './plain-server.ts';

/** What can be reached with Node's responses: an event is text once, and the text of a turn is one write for each. */
export async function openServer(): Promise<EventServer> {
  const server = await plainServer((_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
    response.write(':\n\n');
  });
  let text = '';
  let number = 0;
  const flush = () => {
    const bytes = Buffer.from(text);
    text = '';
    for (const response of server.responses) response.write(bytes);
  };
  return {
    ...server,
    publish: (event) => {
      if (text === '') setImmediate(flush);
      text += `id: ${++number}\nevent: task\ndata: ${JSON.stringify(event)}\n\n`;
    },
    check: () => undefined,
  };
}
