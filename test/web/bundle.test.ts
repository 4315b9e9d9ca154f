import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { buildDashboard } from '../../scripts/build-dashboard.ts';

const folder = await buildDashboard();
const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => readFileSync(join(entry.parentPath ?? entry.path, entry.name)));

test('the dashboard is at most 80 KB, gzipped', () => {
  const bytes = files.reduce((sum, file) => sum + gzipSync(file, { level: 9 }).length, 0);
  expect(bytes).toBeLessThanOrEqual(80_000);
});

test('the dashboard names no other host, and has nothing inline that the policy forbids', () => {
  const text = files.map(String).join('\n');
  // Names of XML's namespaces are no addresses.
  const hosts = text.match(/https?:\/\/[\w.-]+/g)?.filter((host) => !host.startsWith('http://www.w3.org'));
  expect(hosts ?? []).toEqual([]);
  const page = readFileSync(join(folder, 'index.html'), 'utf8');
  expect(page).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/);
  expect(text).not.toMatch(/\beval\(|new Function\(/);
});
