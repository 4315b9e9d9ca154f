import { userSecret, userSecretFile } from '../../config/user-secret.ts';
import { bytesText, countText, spanText } from '../../core/words.ts';
import type { CacheUse } from '../../store/records.ts';
import { EXIT, type Io } from '../output/io.ts';
import { numberText } from '../output/numbers.ts';
import { padEndToWidth, padStartToWidth, textWidth } from '../output/text-layout.ts';
import { programName, scopeFlags } from '../output/wording.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';
import { type Session, withSession } from '../session/session.ts';

export const cacheCommand = defineCommand<CommonOptions>({
  examples: ['volley cache', 'volley cache clear', 'volley cache --json'],
  declare: (program) =>
    program.addArgument(program.createArgument('[clear]', 'delete all cached results').choices(['clear'])),
  run: ([action], options, io) =>
    withSession(options, io, (session) =>
      action === 'clear' ? clearCache(session, options, io) : showCache(session, options, io),
    ),
});

async function clearCache({ store }: Session, { json }: CommonOptions, { stdout }: Io) {
  const cleared = await store.clearCache();
  if (json) stdout.writeJson({ ok: true, cleared });
  else stdout.write(`Deleted ${countText(cleared, 'cached result')}. Batches keep their results.\n`);
  return EXIT.ok;
}

async function showCache({ store, config }: Session, options: CommonOptions, io: Io) {
  const functions = await store.cacheUse();
  const { enabled, maxMb, maxAgeDays } = config.cache;
  const results = functions.reduce((sum, one) => sum + one.results, 0);
  const bytes = functions.reduce((sum, one) => sum + one.bytes, 0);
  const problem = enabled ? secretProblem(io) : undefined;
  if (options.json) {
    io.stdout.writeJson({
      ok: true,
      enabled,
      results,
      bytes,
      max_mb: maxMb,
      max_age_days: maxAgeDays,
      functions: functions.map(({ function: name, lastUsedAt, ...rest }) => ({
        function: name,
        ...rest,
        last_used_at: new Date(lastUsedAt).toISOString(),
      })),
      ...(problem !== undefined && { problem }),
    });
    return EXIT.ok;
  }
  const lines = [
    enabled ? undefined : 'The cache is off (cache.enabled in volley.toml).',
    problem,
    `${countText(results, 'cached result')}, ${bytesText(bytes)} of at most ${maxMb} MiB, kept for ${countText(maxAgeDays, 'day')}.`,
    ...functionLines(functions),
    results === 0
      ? undefined
      : `To delete them, run: ${programName(io)} cache clear${scopeFlags({ config: options.config })}`,
  ];
  io.stdout.write(`${lines.filter((line) => line !== undefined).join('\n')}\n`);
  return EXIT.ok;
}

/** Why nothing can be cached. */
function secretProblem({ env }: Io): string | undefined {
  const file = userSecretFile(env);
  if (userSecret(file) !== undefined) return undefined;
  return `Nothing is cached: ${file} cannot be created, or other users can read it. Delete it, or make its folder writable.`;
}

function functionLines(functions: readonly CacheUse[]): string[] {
  const names = Math.max(0, ...functions.map((one) => textWidth(one.function)));
  const counts = Math.max(0, ...functions.map((one) => numberText(one.results).length));
  const now = Date.now();
  return functions.map(({ function: name, results, bytes, lastUsedAt }) => {
    const used = spanText(Math.max(0, now - lastUsedAt));
    return `  ${padEndToWidth(name, names)}  ${padStartToWidth(numberText(results), counts)}  ${bytesText(bytes)}, last used ${used} ago`;
  });
}
