import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isSettled, STATUS_NAMES, Status, TRANSITIONS } from '../src/core/status.ts';

const TARGET = new URL('../docs/states.md', import.meta.url);

const MEANINGS: Record<(typeof STATUS_NAMES)[number], string> = {
  pending: 'waits for its dependencies',
  queued: 'waits for room: a slot, resources, locks, a rate',
  running: 'an attempt is under way',
  retrying: 'an attempt failed, and the pause before the next one is not over',
  completed: 'an attempt succeeded',
  failed: 'it failed for good; the failure has a reason',
  cancelled: 'somebody asked for its end',
  skipped: 'what became of a dependency ruled it out; the root cause is named',
};

/** The page `docs/states.md`, made from the table of transitions. */
export function statesPage(): string {
  const settled = STATUS_NAMES.filter((name) => isSettled(Status[name]));
  const arrows = TRANSITIONS.map(({ from, to, when }) => `  ${from} --> ${to}: ${when}`);
  return `# The states of an execution

This page is generated from the table in \`src/core/status.ts\` by \`npx tsx scripts/generate-states.ts\`. Every other
transition is a defect and throws.

\`\`\`mermaid
stateDiagram-v2
  [*] --> pending: submitted
${arrows.join('\n')}
${settled.map((name) => `  ${name} --> [*]`).join('\n')}
\`\`\`

| state | meaning |
|---|---|
${STATUS_NAMES.map((name) => `| \`${name}\` | ${MEANINGS[name]} |`).join('\n')}

| from | to | when |
|---|---|---|
${TRANSITIONS.map(({ from, to, when }) => `| \`${from}\` | \`${to}\` | ${when} |`).join('\n')}

${list(settled)} are final: an execution reaches exactly one of them, and then never changes again.
`;
}

function list(names: readonly string[]): string {
  const quoted = names.map((name) => `\`${name}\``);
  return `${quoted.slice(0, -1).join(', ')} and ${quoted.at(-1)}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(new URL('.', TARGET), { recursive: true });
  writeFileSync(TARGET, statesPage());
}
