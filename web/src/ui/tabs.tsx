import type { JSX } from 'preact';

interface TabsProps<T> {
  readonly label: string;
  /** Each with its text and, if it has one, a tooltip. */
  readonly tabs: readonly (readonly [value: T, text: string, title?: string])[];
  readonly current: T;
  readonly isInPanel?: boolean;
  readonly choose: (value: T) => void;
}

export function Tabs<T>({ label, tabs, current, isInPanel, choose }: TabsProps<T>): JSX.Element {
  return (
    <nav class={isInPanel ? 'panel-tabs' : 'tabs'} aria-label={label}>
      {tabs.map(([value, text, title]) => (
        <button
          key={text}
          type="button"
          class="tab"
          aria-current={current === value ? 'true' : undefined}
          title={title}
          onClick={() => choose(value)}
        >
          {text}
        </button>
      ))}
    </nav>
  );
}
