import { MAX_SPAN_MS } from '../../core/numbers.ts';
import { DEFAULTS } from '../defaults.ts';
import { flag, globRule, table, textList, wholeNumber } from './kinds.ts';

const defaults = DEFAULTS.tools;
/** The most that a tool may keep in memory of one file or answer. */
const MAX_BYTES = 2 ** 30;

const files = table('The tools `read_file`, `write_file`, `list_directory` and `search_files`.', {
  max_bytes: wholeNumber({
    does: 'The largest part of a file that is read at once, and the largest text that is written.',
    default: defaults.files.max_bytes,
    min: 1,
    max: MAX_BYTES,
  }),
  max_entries: wholeNumber({
    does: 'How many entries or matches a listing or a search gives at most.',
    default: defaults.files.max_entries,
    min: 1,
    max: 1_000_000,
  }),
});

const httpRequest = table('The tool `http_request`.', {
  enabled: flag({ does: 'Whether the tool exists.', default: defaults.http_request.enabled }),
  allow_private: flag({
    does: 'Whether addresses of this machine and of private networks may be asked.',
    default: defaults.http_request.allow_private,
  }),
  allow_hosts: textList(
    {
      does: 'Globs of the host names that may be asked.',
      default: defaults.http_request.allow_hosts,
      examples: ['api.example.org', '*.example.com'],
    },
    (glob) =>
      /[\s/:@]/.test(glob)
        ? 'must be a host name or a glob of host names such as "*.example.org", without scheme, port or path'
        : globRule(glob),
  ),
  max_bytes: wholeNumber({
    does: 'The largest answer that is read.',
    default: defaults.http_request.max_bytes,
    min: 1,
    max: MAX_BYTES,
  }),
  max_redirects: wholeNumber({
    does: 'How many redirects are followed.',
    default: defaults.http_request.max_redirects,
    min: 0,
    max: 100,
  }),
  timeout_ms: wholeNumber({
    does: 'How long a request may take, with its redirects.',
    default: defaults.http_request.timeout_ms,
    min: 1,
    max: MAX_SPAN_MS,
  }),
});

const shell = table('The tool `shell`.', {
  enabled: flag({ does: 'Whether the tool exists.', default: defaults.shell.enabled }),
  program: textList({
    does: 'The program that runs commands and its first arguments; the command is added as the last.',
    default: defaults.shell.program,
    examples: ['/bin/bash', '-c'],
    min: 1,
  }),
  env: textList(
    {
      does: 'The names of the environment variables that commands get; all others are kept from them.',
      default: defaults.shell.env,
      examples: ['PATH', 'HOME', 'JAVA_HOME'],
    },
    (name) =>
      /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)
        ? undefined
        : 'must be the name of an environment variable such as "PATH"',
  ),
  network: flag({
    does: 'Whether commands in the sandbox may use the network. Outside a sandbox nothing keeps them from it.',
    default: defaults.shell.network,
  }),
});

const nameRule = (glob: string) =>
  /[^\w.\-*?[\]{}()!,|+@^]/.test(glob)
    ? 'must be a name of a tool or a glob of such names, such as "read_*"'
    : globRule(glob);

export const toolsSection = table('Which tools there are, and what they may touch.', {
  allow: textList(
    {
      does: 'Globs of the names of the tools that may be called.',
      default: defaults.allow,
      examples: ['read_*', 'search_files'],
    },
    nameRule,
  ),
  deny: textList(
    {
      does: 'Globs of the names of the tools that may not be called, even where `allow` names them.',
      default: defaults.deny,
      examples: ['write_*', 'shell'],
    },
    nameRule,
  ),
  modules: textList(
    {
      does: "Modules with tools of your own: paths or globs, from the file's folder, loaded in this order. TypeScript works where Node can run it (22.18 or newer).",
      default: defaults.modules,
      examples: ['./tools/*.mjs'],
    },
    globRule,
  ),
  roots: textList({
    does: "The folders in which file tools and processes may work, from the file's folder; each must exist. A relative path that a tool gets counts from the first.",
    default: defaults.roots,
    examples: ['.', '../data'],
    min: 1,
  }),
  protected: textList(
    {
      does: "Globs of files and folders that no tool may write, relative to the file's folder. They add to the default protected paths (see docs/tools.md).",
      default: defaults.protected,
      examples: ['infra/**', '**/*.pem'],
    },
    globRule,
  ),
  writable: textList(
    {
      does: "Globs of protected files and folders that tools may write, relative to the file's folder. Volley's own files (`volley.toml`, `.volley`, `.tmp/tasks`, the store, your configuration folder) always stay protected.",
      default: defaults.writable,
      examples: ['.github/workflows/**', 'node_modules/**'],
    },
    globRule,
  ),
  files: files.prefault({}),
  http_request: httpRequest.prefault({}),
  shell: shell.prefault({}),
});
