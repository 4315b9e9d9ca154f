/** Fields of requests that are options of commands, where they go by another name than their own. */
const OPTIONS: Readonly<Record<string, string>> = {
  cursor: '--after',
  'range.offset': '--offset',
  'range.length': '--length',
};
const NAMESAKES = [
  ...['batch', 'max_concurrent', 'timeout', 'fail_fast', 'format', 'limit', 'id', 'ids', 'filter_status'],
  ...['output_file', 'name', 'function', 'params', 'priority', 'max_retries', 'depends_on'],
  'on_dependency_failure',
];
const FIELDS = [...Object.keys(OPTIONS), ...NAMESAKES].map((field) => field.replace('.', '\\.')).join('|');
const REQUEST = /^The request "\w+" cannot be done:\s/;
const FIELD = new RegExp(`(^ *|; )(${FIELDS})(?:\\[\\d+\\])?(?= (?:must|is missing))`, 'gm');

/** What the executor says of the fields of a request, for somebody who has typed options: `--limit must be at least 1`. */
export function optionWords(text: string): string {
  const [request = ''] = REQUEST.exec(text) ?? [];
  const fields = text.slice(request.length);
  const words = fields.replace(FIELD, (_, before: string, field: string) => before + optionOf(field));
  if (request === '' || words === fields) return text;
  return request.endsWith('\n') ? `This cannot be done:\n${words}` : words;
}

function optionOf(field: string): string {
  return OPTIONS[field] ?? `--${field.replaceAll('_', '-')}`;
}
