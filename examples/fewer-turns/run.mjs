// What fifty calls cost a model: one in each turn, all in one turn, and as one batch of Volley. The model is played by this
// program, so that every run asks for the same; the servers, the client and the answers are real. It writes down
// what a model would write and read, and counts that.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { commandOf, trustedIn } from '../shared/volley.mjs';
import { Transcript } from './transcript.mjs';

const OUT = fileURLToPath(new URL('./out/', import.meta.url));
const NOTES = `${OUT}notes`;
const FILES = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-filesystem/dist/index.js');
const PROMPT = 'Which of the 50 notes (01.md to 50.md) are still open?';

const names = Array.from({ length: 50 }, (_, index) => `${String(index + 1).padStart(2, '0')}.md`);

rmSync(OUT, { recursive: true, force: true });
mkdirSync(NOTES, { recursive: true });
for (const [index, name] of names.entries()) {
  const state = index % 3 === 0 ? 'open' : 'done';
  writeFileSync(
    `${NOTES}/${name}`,
    `# Note ${index + 1}\n\nState: ${state}\n\n${'Some words on it. '.repeat(8)}\n`,
  );
}
writeFileSync(
  `${OUT}volley.toml`,
  `[mcp.servers.files]\ncommand = ${JSON.stringify(process.execPath)}\nargs = ${JSON.stringify([FILES, 'notes'])}\nroots = ["notes"]\n`,
);

const filesServer = { command: process.execPath, args: [FILES, 'notes'], cwd: OUT };
const volleyServer = { ...commandOf(['mcp']), cwd: OUT, env: trustedIn(OUT) };
const readOne = (name) => ({ name: 'read_text_file', arguments: { path: name } });
const readAll = {
  name: 'run_batch',
  arguments: {
    tasks: names.map((name) => ({ function: 'files.read_text_file', params: { path: name } })),
  },
};

/** Each turn is the calls that the model asks for in it. */
const WAYS = [
  { way: 'one call in a turn', server: filesServer, turns: names.map((name) => [readOne(name)]) },
  { way: 'all calls in one turn', server: filesServer, turns: [names.map(readOne)] },
  {
    way: 'one batch, functions looked up first',
    server: volleyServer,
    turns: [[{ name: 'list_batch_functions', arguments: { search: 'read text file', limit: 3 } }], [readAll]],
  },
  { way: 'one batch, functions known', server: volleyServer, turns: [[readAll]] },
];

console.log('| way | turns | bytes | tokens written | tokens read in all turns | ms in calls |');
console.log('|---|---|---|---|---|---|');
for (const { way, server, turns } of WAYS) {
  const client = new Client({ name: 'example', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ ...server, stderr: 'ignore' }));
  const { tools } = await client.listTools();
  // Servers are started with their first use, which is no part of what is compared.
  if (server === volleyServer) await client.callTool({ name: 'list_batch_functions', arguments: {} });
  const transcript = new Transcript(tools, PROMPT);
  for (const calls of turns) {
    transcript.asked(calls);
    const start = performance.now();
    const results = await Promise.all(calls.map((call) => client.callTool(call)));
    transcript.answered(results, performance.now() - start);
  }
  transcript.said('Open are 1, 4, 7, 10, 13, 16, 19, 22, 25, 28, 31, 34, 37, 40, 43, 46 and 49.');
  await client.close();
  writeFileSync(`${OUT}${way.replaceAll(/\W+/g, '-')}.json`, transcript.text());
  const { bytes, written, read, ms } = transcript.measure();
  const cells = [way, transcript.turns, bytes, written, read, Math.round(ms)];
  console.log(`| ${cells.map((cell) => cell.toLocaleString('en-US')).join(' | ')} |`);
}
