import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { isObject } from '../../../../src/core/values.ts';
import { Icon } from '../../ui/icons.tsx';
import { emptyValue, type Field, numberIn, type Property, typeText, valueIn } from './schema-fields.ts';

/** What is wrong with fields, by JSON pointers. */
export type Faults = ReadonlyMap<string, string>;

interface FieldProps {
  readonly name: string;
  readonly field: Field;
  readonly isRequired: boolean;
  readonly value: unknown;
  /** Undefined: it is left out. */
  readonly change: (value: unknown) => void;
  /** Where it is in all arguments. */
  readonly pointer: string;
  readonly faults: Faults;
}

/** The fields of an object, with what the server has against them. */
export function ObjectFields(props: {
  properties: readonly Property[];
  value: unknown;
  change: (value: object) => void;
  pointer: string;
  faults: Faults;
}): JSX.Element {
  const { properties, change, pointer, faults } = props;
  const value = recordOf(props.value);
  return (
    <div class="schema-fields">
      {properties.map(({ name, field, isRequired }) => (
        <SchemaField
          key={name}
          {...{ name, field, isRequired, faults }}
          value={value[name]}
          change={(next) => change(withEntry(value, name, next))}
          pointer={`${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`}
        />
      ))}
    </div>
  );
}

function SchemaField(props: FieldProps): JSX.Element {
  const { field, value } = props;
  // What was written as JSON, or a reference to another result, need not be what the form expects.
  if (field.kind === 'list' && (value === undefined || Array.isArray(value))) return <ListField {...props} />;
  if (field.kind === 'object' && (value === undefined || isObject(value))) return <ObjectField {...props} />;
  return <ValueField {...props} />;
}

function ValueField(props: FieldProps): JSX.Element {
  const { name, field, isRequired, value, change, pointer, faults } = props;
  const id = useId();
  const fault = faults.get(pointer);
  const common = {
    id,
    class: 'input',
    'aria-required': isRequired,
    'aria-invalid': fault !== undefined,
    'aria-describedby': `${id}-note`,
  };
  return (
    <div class="field">
      <label for={id}>
        <FieldName {...{ name, field, isRequired }} />
      </label>
      <ValueInput {...{ field, isRequired, value, change, common }} />
      <FieldNote id={`${id}-note`} field={field} fault={fault} />
    </div>
  );
}

function ValueInput(props: {
  field: Field;
  isRequired: boolean;
  value: unknown;
  change: (value: unknown) => void;
  common: { id: string; class: string };
}): JSX.Element {
  const { field, isRequired, value, change, common } = props;
  const choices =
    field.kind === 'boolean' ? [true, false] : field.kind === 'choice' ? field.choices : undefined;
  if (choices !== undefined && (value === undefined || choices.some((one) => sameJson(one, value)))) {
    return (
      <select
        {...common}
        value={value === undefined ? '' : JSON.stringify(value)}
        onChange={({ currentTarget: { value: text } }) => change(valueIn(text))}
      >
        {(!isRequired || value === undefined) && <option value="">{notGivenText(field)}</option>}
        {choices.map((one) => (
          <option key={JSON.stringify(one)} value={JSON.stringify(one)}>
            {typeof one === 'string' ? one : JSON.stringify(one)}
          </option>
        ))}
      </select>
    );
  }
  if (field.kind === 'string') {
    return (
      <textarea
        {...common}
        rows={1}
        spellcheck={false}
        value={typeof value === 'string' ? value : jsonText(value)}
        placeholder={field.fallback === undefined ? '' : String(field.fallback)}
        onInput={({ currentTarget: { value: text } }) =>
          change(text === '' && !isRequired ? undefined : text)
        }
      />
    );
  }
  return <TypedInput {...props} />;
}

/** Numbers and JSON: what is typed is kept as it stands, for it is no value before it is whole. */
function TypedInput(props: {
  field: Field;
  value: unknown;
  change: (value: unknown) => void;
  common: { id: string; class: string };
}): JSX.Element {
  const { field, value, change, common } = props;
  const read = field.kind === 'number' ? numberIn : valueIn;
  const [text, setText] = useState(shownText(value));
  // Somebody else changed the value.
  const shown = sameJson(read(text), value) ? text : shownText(value);
  const input = ({ currentTarget }: { currentTarget: { value: string } }) => {
    setText(currentTarget.value);
    change(read(currentTarget.value));
  };
  if (field.kind === 'number') {
    return (
      <input
        {...common}
        inputMode="decimal"
        value={shown}
        placeholder={field.fallback === undefined ? '' : String(field.fallback)}
        onInput={input}
      />
    );
  }
  return (
    <textarea {...common} class="input mono" rows={1} spellcheck={false} value={shown} onInput={input} />
  );
}

function ListField(props: FieldProps): JSX.Element {
  const { name, field, isRequired, value, change, pointer, faults } = props;
  if (field.kind !== 'list') return <ValueField {...props} />;
  const items = (value ?? []) as readonly unknown[];
  const set = (next: readonly unknown[]) => change(next.length === 0 && !isRequired ? undefined : next);
  return (
    <fieldset class="schema-group">
      <legend>
        <FieldName {...{ name, field, isRequired }} />
      </legend>
      <FieldNote field={field} fault={faults.get(pointer)} />
      {items.map((item, index) => (
        <div key={index} class="schema-item">
          <SchemaField
            name={String(index + 1)}
            field={field.item}
            isRequired
            value={item}
            change={(next) => set(items.map((one, place) => (place === index ? (next ?? '') : one)))}
            pointer={`${pointer}/${index}`}
            faults={faults}
          />
          <button
            type="button"
            class="button is-quiet is-icon"
            aria-label={`Remove ${name} ${index + 1}`}
            onClick={() => set(items.filter((_, place) => place !== index))}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
      <button
        type="button"
        class="button"
        onClick={() => set([...items, emptyValue(field.item) ?? ''])}
        aria-label={`Add to ${name}`}
      >
        <Icon name="plus" /> Add
      </button>
    </fieldset>
  );
}

function ObjectField(props: FieldProps): JSX.Element {
  const { name, field, isRequired, value, change, pointer, faults } = props;
  if (field.kind !== 'object') return <ValueField {...props} />;
  return (
    <fieldset class="schema-group">
      <legend>
        <FieldName {...{ name, field, isRequired }} />
      </legend>
      <FieldNote field={field} fault={faults.get(pointer)} />
      {value !== undefined && (
        <ObjectFields {...{ value, change, pointer, faults }} properties={field.properties} />
      )}
      {value === undefined ? (
        <button
          type="button"
          class="button"
          onClick={() => change(emptyValue(field))}
          aria-label={`Add ${name}`}
        >
          <Icon name="plus" /> Add
        </button>
      ) : (
        !isRequired && (
          <button
            type="button"
            class="button"
            onClick={() => change(undefined)}
            aria-label={`Remove ${name}`}
          >
            <Icon name="close" /> Remove
          </button>
        )
      )}
    </fieldset>
  );
}

function FieldName(props: { name: string; field: Field; isRequired: boolean }): JSX.Element {
  const { name, field, isRequired } = props;
  return (
    <>
      {name} {isRequired && <span class="required">required</span>}{' '}
      {field.kind !== 'string' &&
        field.kind !== 'choice' &&
        field.kind !== 'boolean' &&
        field.kind !== 'object' && <span class="field-type">{typeText(field)}</span>}
    </>
  );
}

function FieldNote(props: { id?: string; field: Field; fault: string | undefined }): JSX.Element {
  const { id, field, fault } = props;
  return (
    <span id={id} class="field-note">
      {fault !== undefined && <span class="field-fault">{fault} </span>}
      {field.description}
    </span>
  );
}

function notGivenText({ fallback }: Field): string {
  return fallback === undefined ? 'not given' : `not given (${jsonText(fallback)})`;
}

function shownText(value: unknown): string {
  return typeof value === 'string' ? value : jsonText(value);
}

function jsonText(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value);
}

function sameJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

function withEntry(value: object, name: string, next: unknown): object {
  const entries = Object.entries(value).filter(([own]) => own !== name || next !== undefined);
  if (next === undefined) return Object.fromEntries(entries);
  return Object.fromEntries(
    name in value
      ? entries.map(([own, old]) => [own, own === name ? next : old])
      : [...entries, [name, next]],
  );
}
