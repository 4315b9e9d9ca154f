// What five kinds of work cost a model: with the client's own calls, with a sketch of code mode, and with Volley. The
// model is played by this program, so that every run makes the same requests. The servers, the client and the answers
// are real. It records what a model would write and read, and counts that.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { COMMANDS, connect, connectVolley, OUT } from './servers.mjs';
import { Transcript } from './transcript.mjs';
import { WORKS } from './works.mjs';

function write(folder, count, textOf) {
  mkdirSync(`${OUT}${folder}`, { recursive: true });
  for (let number = 1; number <= count; number++)
    writeFileSync(`${OUT}${folder}/${String(number).padStart(2, '0')}.md`, textOf(number));
}

rmSync(OUT, { recursive: true, force: true });
const stateOf = (number) => (number % 3 === 1 ? 'open' : 'done');
write(
  'notes',
  50,
  (number) =>
    `# Note ${number}\n\nState: ${stateOf(number)}\n\n${'Some words on what was said. '.repeat(20)}\n`,
);
write(
  'reports',
  30,
  (number) => `# Report ${number}\n\n${'What was seen, and what follows. '.repeat(20 + number)}\n`,
);
const [command, ...args] = COMMANDS.records;
writeFileSync(
  `${OUT}volley.toml`,
  `[mcp.servers.records]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\nparallel = "all"\n`,
);

const [files, records, code, full, small] = await Promise.all([
  connect('files'),
  connect('records'),
  connect('code'),
  connectVolley('default'),
  connectVolley('small'),
]);
const toolsOf = async (client) => (await client.listTools()).tools;
const ownTools = [...(await toolsOf(files)), ...(await toolsOf(records))];
// Servers start when they are first used, which is not part of what is compared.
for (const volley of [full, small])
  await volley.callTool({ name: 'list_batch_functions', arguments: { search: 'order' } });

/** Each way ends with a value, from which the model says its last words. */
const WAYS = [
  { way: "the client's own calls", play: (work, turn) => work.own(textsOf(turn)) },
  once('code mode, a sketch', code, ({ code: text }) => ({ name: 'run_code', arguments: { code: text } })),
  once('Volley, a program', full, ({ program }) => ({ name: 'run_program', arguments: { code: program } })),
  once('the same, small profile', small, ({ program }) => ({
    name: 'run_program',
    arguments: { code: program },
  })),
  once('Volley, a batch', full, ({ batch }) => ({ name: 'run_batch', arguments: batch })),
];

/** A model reads texts. */
function textsOf(turn) {
  return async (calls) =>
    (await turn(calls)).map(({ content }) => content.map(({ text }) => text).join('\n'));
}

/** One call of a server does all of the work. */
function once(way, server, callOf) {
  return {
    way,
    server,
    play: async (work, turn) => {
      const [{ content, structuredContent }] = await turn([callOf(work)]);
      return structuredContent === undefined ? JSON.parse(content[0].text) : structuredContent.returned;
    },
  };
}

console.log('| work | way | turns | tokens written | tokens read in all turns |');
console.log('|---|---|---|---|---|');
for (const work of WORKS) {
  const needed = ownTools.filter(({ name }) => work.tools.includes(name));
  for (const { way, server, play } of WAYS) {
    const transcript = new Transcript([...needed, ...(server ? await toolsOf(server) : [])], work.prompt);
    const clientOf = (name) => server ?? (['list_orders', 'get_customer'].includes(name) ? records : files);
    const turn = async (calls) => {
      transcript.asked(calls);
      const results = await Promise.all(calls.map((call) => clientOf(call.name).callTool(call)));
      transcript.answered(results);
      return results;
    };
    transcript.said(work.answer(await play(work, turn)));
    const { written, read } = transcript.measure();
    const cells = [work.kind, way, transcript.turns, written, read];
    console.log(`| ${cells.map((cell) => cell.toLocaleString('en-US')).join(' | ')} |`);
    writeFileSync(`${OUT}${`${work.kind}-${way}`.replaceAll(/\W+/g, '-')}.json`, transcript.text());
  }
}
await Promise.all([files, records, code, full, small].map((client) => client.close()));
