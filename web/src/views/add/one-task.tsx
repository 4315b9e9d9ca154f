import type { JSX, TargetedEvent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { PRIORITIES } from '../../../../src/core/priority.ts';
import { ApiError, get } from '../../api/http.ts';
import { argumentsOf, skeletonOf } from './schema-help.ts';
import type { TaskDraft } from './task-draft.ts';

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

/** One task: its function with its schema as help, its arguments, and what differs from the tool. */
export function OneTask(props: { draft: TaskDraft; change: (draft: TaskDraft) => void }): JSX.Element {
  const { draft, change } = props;
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
        <label class="field">
          Arguments, as JSON
          <textarea
            class="input mono"
            rows={8}
            spellcheck={false}
            value={draft.params}
            onInput={set('params')}
          />
        </label>
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
              onInput={set('retries')}
            />
          </label>
          <label class="field is-short">
            Limit, s
            <input
              class="input"
              inputMode="decimal"
              pattern="[0-9.]*"
              value={draft.timeout}
              onInput={set('timeout')}
            />
          </label>
        </div>
      </div>
      <ToolHelp tool={tool} />
    </div>
  );
}

function ToolHelp({ tool }: { tool: Tool | undefined }): JSX.Element {
  if (tool === undefined) {
    return <div class="tool-help quiet">Choose a function to see what it does and takes.</div>;
  }
  const args = argumentsOf(tool.input_schema);
  return (
    <div class="tool-help" tabIndex={0} role="region" aria-label={`About ${tool.name}`}>
      <p>{tool.description}</p>
      {args.length === 0 && <p class="quiet">It takes no arguments.</p>}
      <dl class="arguments">
        {args.map(({ name, type, isRequired, description }) => (
          <div key={name}>
            <dt>
              <code>{name}</code> <span class="quiet">{type}</span>
              {isRequired && <span class="required">required</span>}
            </dt>
            <dd>{description}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
