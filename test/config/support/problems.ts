import { loadConfig } from '../../../src/config/load.ts';
import { VolleyError } from '../../../src/core/errors.ts';
import { folderWith } from './folder.ts';

/** The message of the error that a file and an environment give, without the folder of the test. */
export async function messageOf(text: string | undefined, env: Record<string, string> = {}): Promise<string> {
  const folder = folderWith(text === undefined ? {} : { 'volley.toml': text });
  try {
    await loadConfig({ cwd: folder, env });
  } catch (error) {
    if (error instanceof VolleyError && error.code === 'INVALID_CONFIG') {
      return error.message.replaceAll(`${folder}/`, '');
    }
    throw error;
  }
  throw new Error('the configuration was valid');
}

/** The problems alone, each of its own. */
export async function problemsOf(text: string | undefined, env?: Record<string, string>): Promise<string[]> {
  return (await messageOf(text, env)).split('\n\n').slice(1);
}
