import { loadConfig } from '../../config/load.ts';
import { VolleyError } from '../../core/errors.ts';
import { callServer } from '../../server/call-server.ts';
import { runningServers } from '../../server/server-record.ts';
import { EXIT } from '../output/io.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';

export const dashboardCommand = defineCommand<CommonOptions>({
  examples: ['volley dashboard'],
  declare: () => undefined,
  run: async (_, { json, config: file }, { cwd, env, stdout }) => {
    const { config } = await loadConfig({ cwd, env, ...(file !== undefined && { file }) });
    const [server] = await runningServers(config.store.file);
    if (server === undefined)
      throw new VolleyError('SERVER_UNREACHABLE', 'No server is running here. Start one with volley serve.');
    const { url } = await callServer<{ url: string }>(server, '/v1/session/keys', ['url']);
    if (json) stdout.writeJson({ ok: true, url });
    else stdout.write(`${url}\n`);
    return EXIT.ok;
  },
});
