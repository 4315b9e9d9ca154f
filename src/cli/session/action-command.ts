import { type Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import type { Action, CliOption } from '../../batch/actions/define-action.ts';
import { VolleyError } from '../../core/errors.ts';
import { parseExactJson } from '../../core/json-numbers.ts';
import { withoutUndefined } from '../../core/values.ts';
import { type CliCommand, type CommonOptions, defineCommand } from '../program/command.ts';
import { BATCH_OPTION, listOption, NAMED_BATCH_OPTION, numberOption } from '../program/options.ts';
import { type AnswerOptions, askAndPrint, askOfBatch, askToAdd } from './ask.ts';

/** What a command has beyond what its action defines. */
interface Extras {
  /** Adds options of its own. */
  declare?(program: Command): void;
  /** How the answer is printed. */
  print?(options: Readonly<Record<string, unknown>>): AnswerOptions['textIs'];
}

/** The part of a JSON Schema that options are made from. */
interface FieldSchema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly anyOf?: readonly FieldSchema[];
  readonly items?: FieldSchema;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
}

/** A field as an option; those inside of an object are `object.field`. */
interface FieldOption {
  readonly field: string;
  readonly flags: string;
  readonly help: string;
  readonly isRequired: boolean;
  /** What the flag stands for, if it takes no value. */
  readonly value: unknown;
  readonly read: ((text: string, before: never) => unknown) | undefined;
}

/** The command of an action: an option for each field, sent to the batch executor. */
export function actionCommand(action: Action, extras: Extras = {}): CliCommand {
  const { name, hints, schema, cli } = action;
  const { argument } = cli;
  return defineCommand<CommonOptions & Readonly<Record<string, unknown>>>({
    examples: cli.examples,
    declare: (program) => {
      if (argument !== undefined) program.argument(`[${argument}...]`, 'the tasks');
      fieldOptions(program, action);
      extras.declare?.(program);
    },
    run: (args, options, io) => {
      const fields = fieldsOf(action, options);
      if (argument !== undefined && args.length > 0)
        fields[argument] = [...args, ...((fields[argument] as string[] | undefined) ?? [])];
      const request = { action: name, ...fields };
      if (hints.creates) return askToAdd(request, options, io);
      // What cannot be undone is done to a batch that was named, or to `default`.
      if (!('batch' in schema.shape) || hints.destructive) return askAndPrint(request, options, io);
      return askOfBatch(request, { ...options, textIs: extras.print?.(options) }, io);
    },
  });
}

/** Declares an option for each field of an action, or for some of them. */
export function fieldOptions(program: Command, action: Action, only?: readonly string[]): Command {
  const { hints } = action;
  for (const { field, flags, help, isRequired, read } of optionsOf(action)) {
    if (only !== undefined && !only.includes(field)) continue;
    if (field === 'batch') {
      const [name, about] = hints.creates || hints.destructive ? NAMED_BATCH_OPTION : BATCH_OPTION;
      program.option(name, about);
    } else if (isRequired) program.requiredOption(flags, help);
    else if (read !== undefined) program.option(flags, help, read as never);
    else program.option(flags, help);
  }
  return program;
}

/** The fields that a command line gave. */
export function fieldsOf(
  action: Action,
  options: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const { field, flags, value } of optionsOf(action)) {
    const found = options[attributeOf(flags)];
    if (found === undefined) continue;
    const [outer = '', inner] = field.split('.');
    const given = value ?? found;
    fields[outer] = inner === undefined ? given : { ...(fields[outer] as object), [inner]: given };
  }
  return withoutUndefined(fields);
}

function optionsOf({ schema, cli }: Action): FieldOption[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const fields = Object.entries(properties as Record<string, FieldSchema>).flatMap(([field, one]) =>
    one.properties === undefined
      ? [[field, one] as const]
      : Object.entries(one.properties).map(([inner, part]) => [`${field}.${inner}`, part] as const),
  );
  return fields.flatMap(([field, one]) => {
    const form = cli.options?.[field] ?? cli.options?.[field.split('.')[0]!] ?? {};
    return form === false ? [] : [optionOf(field, one, form, required.includes(field))];
  });
}

function optionOf(field: string, schema: FieldSchema, form: CliOption, isRequired: boolean): FieldOption {
  const isFlag = schema.type === 'boolean' || schema.const === true;
  const long = `--${field.replaceAll('_', '-')}`;
  const flags = form.flags ?? (isFlag ? long : `${long} <${placeholderOf(field, schema)}>`);
  return {
    field,
    flags,
    help: form.help ?? helpOf(schema),
    isRequired,
    value: form.value,
    read: isFlag ? undefined : readerOf(schema),
  };
}

function placeholderOf(field: string, schema: FieldSchema): string {
  const kinds = kindsOf(schema);
  if (kinds.includes('integer') || kinds.includes('number')) return 'number';
  if (kinds.includes('object')) return 'json';
  const word = field.split(/[._]/).at(-1)!;
  if (!kinds.includes('array')) return word;
  return word.endsWith('us') ? `${word}es` : word.endsWith('s') ? word : 'ids';
}

/** The description of the field, as a help writes it, with the values that it may have. */
function helpOf({ description = '', enum: choices, items, anyOf = [] }: FieldSchema): string {
  const [text = '', fallback] = description.replace(/\.$/, '').split(/\.? ?\bDefault:? /);
  const list = items ?? anyOf.find((one) => one.items !== undefined)?.items;
  const values = (choices ?? list?.enum ?? []).filter((value) => !text.includes(value));
  const parts = [
    `${text.charAt(0).toLowerCase()}${text.slice(1)}`,
    list === undefined ? '' : 'comma-separated',
  ].filter((part) => part !== '');
  const either = [values.slice(0, -1).join(', '), values.at(-1)].filter(Boolean).join(' or ');
  const shown = [parts.join(', '), either].filter((part) => part !== '').join(': ');
  return fallback === undefined ? shown : `${shown} (default: ${fallback})`;
}

function kindsOf({ type, anyOf = [] }: FieldSchema): (string | undefined)[] {
  return [type, ...anyOf.map((one) => one.type)];
}

function readerOf(schema: FieldSchema): FieldOption['read'] {
  const { anyOf = [] } = schema;
  const kinds = kindsOf(schema);
  if (kinds.includes('array')) return listOption as FieldOption['read'];
  if (kinds.includes('object')) return jsonOption;
  if (!kinds.includes('integer') && !kinds.includes('number')) return undefined;
  const words = anyOf.flatMap((one) => (one.const === undefined ? [] : [one.const]));
  return (text) => (words.includes(text) ? text : numberOption(text));
}

/** Where commander puts the value of an option. */
function attributeOf(flags: string): string {
  const [, long = ''] = /--([\w-]+)/.exec(flags) ?? [];
  return long.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

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
