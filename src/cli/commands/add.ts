import { InvalidArgumentError } from 'commander';
import { VolleyError } from '../../core/errors.ts';
import { parseExactJson } from '../../core/json-numbers.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';
import { listOption, NAMED_BATCH_OPTION, numberOption } from '../program/options.ts';
import { askToAdd, given } from '../session/ask.ts';

interface AddOptions extends CommonOptions {
  readonly name?: string;
  readonly function: string;
  readonly params?: unknown;
  readonly priority?: string;
  readonly maxRetries?: number;
  readonly id?: string;
  readonly dependsOn?: readonly string[];
  readonly timeout?: number;
  readonly onDependencyFailure?: string;
  readonly batch?: string;
}

export const addCommand = defineCommand<AddOptions>({
  examples: [
    `volley add --function code_analyzer_tool --params '{"action":"analyze","file_path":"src/index.ts"}'`,
    `volley add --id report --function write_file --params '{"path":"r.txt","content":"\${lines.total}"}' --depends-on lines`,
  ],
  declare: (program) =>
    program
      .requiredOption('--function <name>', 'the tool that does it (volley tools lists them)')
      .option('--name <text>', 'a name for people')
      .option('--params <json>', 'its arguments as JSON', jsonOption)
      .option('--priority <priority>', 'critical, high, normal (or medium), low or background')
      .option('--max-retries <number>', 'attempts after the first', numberOption)
      .option('--id <id>', 'an id, unique in the batch')
      .option('--depends-on <ids>', 'ids of tasks that must end first, with commas', listOption)
      .option('--timeout <seconds>', 'for one attempt', numberOption)
      .option('--on-dependency-failure <policy>', 'skip, run or on-failure')
      .option(...NAMED_BATCH_OPTION),
  run: (_, options, io) =>
    askToAdd(
      given({
        action: 'add',
        name: options.name,
        function: options.function,
        params: options.params,
        priority: options.priority,
        max_retries: options.maxRetries,
        id: options.id,
        depends_on: options.dependsOn,
        timeout: options.timeout,
        on_dependency_failure: options.onDependencyFailure,
        batch: options.batch,
      }),
      options,
      io,
    ),
});

/** Parses JSON from the command line, where shell quoting often breaks it. */
function jsonOption(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof VolleyError) throw new InvalidArgumentError(error.message);
    throw new InvalidArgumentError(
      `It must be JSON, such as '{"path":"a.txt"}' in single quotes: ${(error as Error).message}.`,
    );
  }
}
