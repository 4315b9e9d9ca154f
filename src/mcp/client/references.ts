import { VolleyError } from '../../core/errors.ts';

/** `env:NAME`, by itself or after something and a space: `Bearer env:NAME`. */
const REFERENCE = /^(.* )?env:([A-Za-z_][A-Za-z0-9_]*)$/;
/** Fields whose values are nobody else's business, even where they stand in the file. */
const SECRET_FIELD = /auth|cookie|token|secret|key|password/i;

export type Environment = Readonly<Record<string, string | undefined>>;

/** Values of the configuration as they are sent, and those of them that must not be shown. */
export interface ResolvedValues {
  readonly values: Record<string, string>;
  readonly secrets: readonly string[];
}

/** Replaces the references in a table of the configuration; `owner` is for the error: `mcp.servers.tickets.headers`. */
export function resolveValues(
  table: Readonly<Record<string, string>>,
  env: Environment,
  owner: string,
): ResolvedValues {
  const values: Record<string, string> = {};
  const secrets: string[] = [];
  for (const [name, text] of Object.entries(table)) {
    const [, before = '', variable] = REFERENCE.exec(text) ?? [];
    if (variable === undefined) {
      values[name] = text;
      if (SECRET_FIELD.test(name)) secrets.push(text);
      continue;
    }
    const value = env[variable];
    if (value === undefined || value === '') {
      throw new VolleyError(
        'MCP_SERVER_FAILED',
        `${owner}.${name} refers to the environment variable ${variable}, which is not set.`,
        { variable },
      );
    }
    values[name] = before + value;
    secrets.push(value);
  }
  return { values, secrets };
}
