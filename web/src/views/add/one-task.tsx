import type { JSX, TargetedEvent } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { PRIORITIES } from '../../../../src/core/priority.ts';
import { ApiError, get } from '../../api/http.ts';
import { emptyValue, fieldOf, type Property, typeText } from './schema-fields.ts';
import { type Faults, ObjectFields } from './schema-form.tsx';
import { paramsIn, type TaskDraft } from './task-draft.ts';

interface Tool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: unknown;
}

interface ToolList {
  readonly tools: readonly Tool[];
  /** MCP servers whose tools are not among them. */
  readonly missing_servers: readonly { readonly name: string; readonly problem: string | null }[];
}

/** One task: its function, its arguments as a form or as JSON, and what differs from the tool. */
export function OneTask(props: {
  draft: TaskDraft;
  change: (draft: TaskDraft) => void;
  /** By JSON pointers into the task. */
  faults: Faults;
}): JSX.Element {
  const { draft, change, faults } = props;
  const [isJson, setJson] = useState(false);
  const [list, setList] = useState<ToolList>();
  const [problem, setProblem] = useState('');
  useEffect(() => {
    get<ToolList>('tools').then(setList, (error) =>
      setProblem(error instanceof ApiError ? error.text : String(error)),
    );
  }, []);
  const tools = list?.tools ?? [];
  const tool = tools.find(({ name }) => name === draft.function);
  const set =
    (field: keyof TaskDraft) =>
    (event: TargetedEvent<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement>) =>
      change({ ...draft, [field]: event.currentTarget.value });
  const choose = (name: string) => {
    const chosen = tools.find((one) => one.name === name);
    change({
      ...draft,
      function: name,
      params: chosen === undefined ? draft.params : skeletonOf(chosen.input_schema),
    });
  };
  const properties = useMemo(() => propertiesOf(tool), [tool]);
  const params = useMemo(() => readParams(draft.params), [draft.params]);
  // What is no object cannot be filled in by a form.
  const canForm = tool !== undefined && properties !== undefined && params !== undefined;
  return (
    <div class="one-task">
      <div class="one-task-fields">
        <label class="field">
          Function
          <select
            class="input"
            value={draft.function}
            onChange={(event) => choose(event.currentTarget.value)}
            required
          >
            <option value="" disabled>
              {list === undefined && problem === '' ? 'Reading the functions…' : 'Choose…'}
            </option>
            {tools.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        {problem !== '' && <p class="problem">{problem}</p>}
        {list?.missing_servers.map((server) => (
          <p key={server.name} class="problem" role="status">
            The functions of the MCP server {server.name} are missing:{' '}
            {server.problem ?? 'it has not answered yet.'}
          </p>
        ))}
        {tool !== undefined && (
          <fieldset class="modes">
            <legend>Arguments</legend>
            <label>
              <input
                type="radio"
                name="arguments"
                checked={canForm && !isJson}
                disabled={!canForm}
                onChange={() => setJson(false)}
              />{' '}
              Form
            </label>
            <label>
              <input
                type="radio"
                name="arguments"
                checked={!canForm || isJson}
                onChange={() => setJson(true)}
              />{' '}
              JSON
            </label>
          </fieldset>
        )}
        {canForm && !isJson ? (
          properties.length === 0 ? (
            <p class="quiet">It takes no arguments.</p>
          ) : (
            <ObjectFields
              key={tool.name}
              properties={properties}
              value={params}
              change={(value) => change({ ...draft, params: JSON.stringify(value, null, 2) })}
              pointer="/params"
              faults={faults}
            />
          )
        ) : (
          <label class="field">
            <span class={tool === undefined ? undefined : 'sr-only'}>Arguments, as JSON</span>
            <textarea
              class="input mono"
              rows={8}
              spellcheck={false}
              value={draft.params}
              onInput={set('params')}
            />
          </label>
        )}
        <div class="field-row">
          <label class="field">
            Name
            <input class="input" value={draft.name} placeholder="for people" onInput={set('name')} />
          </label>
          <label class="field">
            Priority
            <select class="input" value={draft.priority} onChange={set('priority')}>
              <option value="">of the tool</option>
              {PRIORITIES.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <label class="field is-short">
            Retries
            <input
              class="input"
              inputMode="numeric"
              pattern="[0-9]*"
              value={draft.retries}
              aria-invalid={faults.has('/max_retries')}
              onInput={set('retries')}
            />
            <Fault text={faults.get('/max_retries')} />
          </label>
          <label class="field is-short">
            Limit, s
            <input
              class="input"
              inputMode="decimal"
              pattern="[0-9.]*"
              value={draft.timeout}
              aria-invalid={faults.has('/timeout')}
              onInput={set('timeout')}
            />
            <Fault text={faults.get('/timeout')} />
          </label>
        </div>
      </div>
      <ToolHelp tool={tool} properties={isJson || !canForm ? (properties ?? []) : []} />
    </div>
  );
}

function Fault({ text }: { text: string | undefined }): JSX.Element | null {
  return text === undefined ? null : <span class="field-fault">{text}</span>;
}

/** The arguments of a function, if its schema is of an object. */
function propertiesOf(tool: Tool | undefined): readonly Property[] | undefined {
  if (tool === undefined) return undefined;
  const field = fieldOf(tool.input_schema);
  return field.kind === 'object' ? field.properties : undefined;
}

/** An object with all that is required, to be filled in. */
function skeletonOf(schema: unknown): string {
  return JSON.stringify(emptyValue(fieldOf(schema)) ?? {}, null, 2);
}

function readParams(text: string): object | undefined {
  try {
    return paramsIn(text);
  } catch {
    return undefined;
  }
}

function ToolHelp({
  tool,
  properties,
}: {
  tool: Tool | undefined;
  properties: readonly Property[];
}): JSX.Element {
  if (tool === undefined) {
    return <div class="tool-help quiet">Choose a function to see what it does and takes.</div>;
  }
  return (
    <div class="tool-help" tabIndex={0} role="region" aria-label={`About ${tool.name}`}>
      <p>{tool.description}</p>
      <dl class="arguments">
        {properties.map(({ name, field, isRequired }) => (
          <div key={name}>
            <dt>
              <code>{name}</code> <span class="quiet">{typeText(field)}</span>
              {isRequired && <span class="required">required</span>}
            </dt>
            <dd>{field.description}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
