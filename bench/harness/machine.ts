import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';

const PEERS = [
  'async',
  'effect',
  'fastq',
  'p-graph',
  'p-limit',
  'p-map',
  'p-queue',
  'piscina',
  'tinypool',
  'workerpool',
];

/** Where and with what the figures were measured. */
export function describeMachine(args: readonly string[]): string {
  const peers = PEERS.map((name) => `${name} ${versionOf(`../../node_modules/${name}/package.json`)}`);
  const command = ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' ');
  return [
    `- Date: ${new Date().toISOString().slice(0, 10)}`,
    `- Machine: ${cpus()[0]!.model.trim()}, ${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GB, ${process.platform} ${process.arch}`,
    `- Node ${process.versions.node}, V8 ${process.versions.v8}`,
    `- volley ${versionOf('../../package.json')} against ${peers.join(', ')}`,
    `- Command: \`${command}\``,
    `- Load of the machine before: ${loadavg()[0]!.toFixed(1)} (over the last minute; 0 is quiet)`,
  ].join('\n');
}

function versionOf(manifest: string): string {
  const text = readFileSync(new URL(manifest, import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
