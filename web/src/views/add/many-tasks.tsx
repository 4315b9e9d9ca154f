import type { JSX } from 'preact';

const EXAMPLE = `{
  "max_concurrent": 5,
  "tasks": [
    { "id": "page", "function": "read_file", "params": { "path": "a.txt" } },
    { "id": "copy", "function": "write_file", "params": { "path": "b.txt", "content": "\${page.content}" } }
  ]
}`;

/** A list of tasks, or an object with `tasks`, as in a file for `volley run`. */
export function ManyTasks({ text, change }: { text: string; change: (text: string) => void }): JSX.Element {
  return (
    <>
      <label class="field">
        Tasks, as JSON or JSON Lines
        <textarea
          class="input mono"
          rows={14}
          spellcheck={false}
          value={text}
          placeholder={EXAMPLE}
          onInput={(event) => change(event.currentTarget.value)}
        />
      </label>
      <p class="quiet">
        The same as in a file for <code>volley run</code>: a list of tasks, or an object with{' '}
        <code>tasks</code>.
        {text === '' && (
          <>
            {' '}
            <button type="button" class="link" onClick={() => change(EXAMPLE)}>
              Start from an example
            </button>
          </>
        )}
      </p>
    </>
  );
}
