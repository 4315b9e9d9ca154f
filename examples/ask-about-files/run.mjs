/**
 * Ask a model the same question about many files, and get answers that are data.
 *
 * Look at: the answers match schema.json, although the model sometimes says something else first. Then it is asked again,
 * with what was wrong. It also says once that it is busy: the calls wait, and none of them fails. The second run has
 * nothing to ask. The model is a server on this machine that follows a script, so that this runs without a key; put a real
 * one into volley.toml and nothing else changes.
 */

import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { forget, volley } from '../shared/volley.mjs';

const folder = fileURLToPath(new URL('.', import.meta.url));
const seen = { asked: 0, invalid: 0, busy: 0 };

const server = createServer(async (request, response) => {
  const { messages } = JSON.parse(await text(request));
  seen.asked++;
  if (seen.busy === 0 && seen.asked > 3) {
    seen.busy++;
    response.writeHead(429, { 'retry-after': '1' }).end('{"error":{"message":"busy"}}');
    return;
  }
  response.setHeader('content-type', 'application/json').end(
    JSON.stringify({
      choices: [{ message: { content: answerTo(messages) }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 200, completion_tokens: 20 },
    }),
  );
});
await once(server.listen(0, '127.0.0.1'), 'listening');
process.env.VOLLEY_MODELS_SCRIPTED_URL = `http://127.0.0.1:${server.address().port}/v1`;

mkdirSync(`${folder}out`, { recursive: true });
const ask = ['run', '--each', 'notes/*.md', '--ask', 'How urgent is {}?', '--model', 'scripted'];
const question = [...ask, '--schema', 'schema.json', '--budget', '1'];
for (const batch of ['urgency', 'urgency-again']) await forget(folder, batch);
// The cache has the answers of the last time.
process.exitCode = await volley(folder, [...question, '--batch', 'urgency', '--force']);
await volley(folder, ['export', '--batch', 'urgency', '--output-file', 'out/urgency.csv']);
console.log(
  `\nThe model was asked ${seen.asked} times: ${seen.invalid} answers were not valid, and ${seen.busy} time it was busy.`,
);
console.log(readFileSync(`${folder}out/urgency.csv`, 'utf8').split('\n')[1]);
await volley(folder, [...question, '--batch', 'urgency-again']);
server.close();

/** The word after "urgency:" in the file; for every third file only at the second try as JSON. */
function answerTo(messages) {
  const [, number, level] = /note (\d+)\s+urgency: (\d)/.exec(messages[0].content);
  const answer = JSON.stringify({ urgency: Number(level), reason: `The note says ${level}.` });
  if (number % 3 !== 0 || messages.length > 1) return answer;
  seen.invalid++;
  return `I would say ${level}.`;
}
