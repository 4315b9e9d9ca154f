import { inspectConfig } from '../../src/config/load.ts';
import { filesInQuestion, trustKey } from '../../src/config/trust.ts';
import { TrustStore } from '../../src/config/trust-store.ts';

/** Approves what the `volley.toml` of a folder could run, as its user would with `volley trust --yes`. */
export async function trustFolder(
  folder: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<void> {
  // One that is not valid is the business of the test.
  const question = await inspectConfig({ cwd: folder, env }).catch(() => undefined);
  if (question === undefined || question.waiting.length === 0) return;
  new TrustStore(env).approve(trustKey(question.file), await filesInQuestion(question));
}
