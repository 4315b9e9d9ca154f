import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { runBuilt } from './support/built-volley.ts';
import { project } from './support/project.ts';

it('the command line finds what a package exports by default: the driver of PostgreSQL', async () => {
  const server = createServer((socket) => socket.end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const { status, stdout } = await runBuilt(project(), ['list', '--json'], {
    env: { VOLLEY_STORE_URL: `postgres://nobody@127.0.0.1:${port}/none` },
  });
  server.close();
  expect(status).toBe(2);
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: 'STORE_UNAVAILABLE' } });
});
