import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { problemOf } from '../validate/deliverables.ts';
import type { Evidence } from './evidence.ts';
import { newestChange } from './newest-change.ts';

const MAX_BYTES = 64 * 1024 * 1024;

export async function checkFileExists(project: string, path: string): Promise<Evidence> {
  const problem = problemOf(path);
  if (problem !== undefined) return { subject: path, ok: false, text: problem };
  const ok = (await newestChange(project, path)) !== undefined;
  return { subject: path, ok, text: ok ? 'exists' : 'does not exist' };
}

export async function checkFileContains(project: string, path: string, text: string): Promise<Evidence> {
  const problem = problemOf(path);
  if (problem !== undefined) return { subject: path, ok: false, text: problem };
  const file = join(project, path);
  const stats = await stat(file).catch(() => undefined);
  if (!stats?.isFile()) return { subject: path, ok: false, text: 'is not a file that exists' };
  if (stats.size > MAX_BYTES) {
    return {
      subject: path,
      ok: false,
      text: `is larger than ${MAX_BYTES / 2 ** 20} MB, and is not searched`,
    };
  }
  const ok = await contains(file, text).catch(() => undefined);
  if (ok === undefined) return { subject: path, ok: false, text: 'cannot be read' };
  return { subject: path, ok, text: `${ok ? 'contains' : 'does not contain'} ${JSON.stringify(text)}` };
}

async function contains(file: string, text: string): Promise<boolean> {
  const wanted = Buffer.from(text);
  let rest = Buffer.alloc(0);
  for await (const chunk of createReadStream(file)) {
    const both = Buffer.concat([rest, chunk as Buffer]);
    if (both.includes(wanted)) return true;
    // What was looked for may stand across two chunks.
    rest = both.subarray(Math.max(0, both.length - wanted.length + 1));
  }
  return wanted.length === 0;
}
