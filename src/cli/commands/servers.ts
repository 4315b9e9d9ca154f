import { spanText } from '../../core/words.ts';
import { EXIT } from '../output/io.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';
import { withStore } from '../session/session.ts';

/** A server says twice a second that it is there. */
const SILENT_MS = 5000;

export const serversCommand = defineCommand<CommonOptions>({
  examples: ['volley servers', 'volley servers --json'],
  declare: () => undefined,
  run: (_, { json = false, ...options }, io) =>
    withStore(options, io, async ({ store }) => {
      const servers = (await store.servers?.list()) ?? [];
      if (json) {
        io.stdout.writeJson({
          ok: true,
          servers: servers.map(({ isLeader, isReady, silentMs, since, ...server }) => ({
            ...server,
            leads: isLeader,
            ready: isReady,
            since: new Date(since).toISOString(),
            silent_ms: silentMs,
          })),
        });
        return EXIT.ok;
      }
      if (servers.length === 0)
        io.stdout.write(
          store.servers === undefined
            ? 'This store is a file, and each of its servers runs what it is asked to run.\n'
            : 'No servers. Start one with: volley serve\n',
        );
      for (const { address, host, pid, isLeader, isReady, silentMs } of servers) {
        const isSilent = silentMs >= SILENT_MS;
        const role = isSilent ? 'silent' : isLeader ? 'leads' : 'stands by';
        const trouble = isReady || isSilent ? '' : ', cannot reach the workers';
        io.stdout.write(
          `${address}  ${role}${trouble}  (process ${pid} on ${host}, heard ${spanText(silentMs)} ago)\n`,
        );
      }
      return EXIT.ok;
    }),
});
