import { SCOPES, type Scope } from '../../batch/actions/define-action.ts';
import { VolleyError } from '../../core/errors.ts';
import { digestOf, digestText, newSecret } from '../../server/auth/secrets.ts';
import { EXIT } from '../output/io.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';

interface TokenOptions extends CommonOptions {
  readonly scope: string;
}

const SCOPES_TEXT = `${SCOPES.slice(0, -1).join(', ')} or ${SCOPES.at(-1)}`;
const NAME = /^[A-Za-z_][\w.-]{0,63}$/;

export const tokenCommand = defineCommand<TokenOptions>({
  examples: ['volley token ci --scope run', 'volley token grafana --scope read'],
  declare: (program) =>
    program
      .argument('<name>', 'the name of the client, for the log')
      .option('--scope <scope>', SCOPES_TEXT, 'read'),
  run: async ([name = ''], { scope, json }, { stdout }) => {
    if (!NAME.test(name))
      throw new VolleyError(
        'INVALID_VALUE',
        'The name must consist of 1 to 64 letters, digits, "_", "-" or ".", and start with a letter or "_".',
      );
    if (!SCOPES.includes(scope as Scope))
      throw new VolleyError('INVALID_VALUE', `The scope must be ${SCOPES_TEXT}, not "${scope}".`);
    const token = newSecret('token');
    const hash = digestText(digestOf(token));
    const key = name.includes('.') ? `"${name}"` : name;
    if (json) {
      stdout.writeJson({ ok: true, name, scope, token, hash });
      return EXIT.ok;
    }
    stdout.write(
      `The token for ${name}, shown only once:\n\n  ${token}\n\nAdd this to volley.toml and restart the server:\n\n  [server.tokens.${key}]\n  hash = "${hash}"\n  scope = "${scope}"\n`,
    );
    return EXIT.ok;
  },
});
