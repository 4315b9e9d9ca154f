/**
 * Ask many endpoints of a server that does not like to be hurried.
 *
 * Look at: the rate limit stands in volley.toml, not in the tasks; it holds for all that runs here. The tasks come from
 * this program through a pipe, as JSON Lines. All depend on the first: where no server answers, the rest is skipped.
 * The server counts what really arrives.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { forget, volley } from '../shared/volley.mjs';

const ENDPOINTS = 30;
const folder = fileURLToPath(new URL('.', import.meta.url));

const arrivals = [];
const server = createServer(({ url }, response) => {
  if (url.startsWith('/items/')) arrivals.push(performance.now());
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ url, stock: url.length * 7 }));
});
await once(server.listen(0, '127.0.0.1'), 'listening');
const { port } = server.address();

const get = (path) => ({ function: 'http_request', params: { url: `http://127.0.0.1:${port}${path}` } });
const tasks = [
  { id: 'health', name: 'is it there?', ...get('/health'), max_retries: 2 },
  ...Array.from({ length: ENDPOINTS }, (_, index) => ({
    id: `item-${index + 1}`,
    name: `item ${index + 1}`,
    ...get(`/items/${index + 1}`),
    depends_on: ['health'],
  })),
];

await forget(folder, 'endpoints');
process.exitCode = await volley(folder, ['run', '-', '--batch', 'endpoints'], {
  input: tasks.map((task) => JSON.stringify(task)).join('\n'),
});
server.close();

const span = arrivals.at(-1) - arrivals[0];
console.log(
  `\nThe server saw ${arrivals.length} requests in ${(span / 1000).toFixed(1)} s, ` +
    `at most ${most(500)} in half a second and ${most(1000)} in a second.`,
);

/** The most requests that arrived within so many milliseconds. */
function most(ms) {
  return Math.max(...arrivals.map((from) => arrivals.filter((at) => at >= from && at < from + ms).length));
}
