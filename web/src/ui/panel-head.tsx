import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from './icons.tsx';

interface PanelHeadProps {
  readonly title: string;
  /** Shown below the title, if it says something else. */
  readonly id: string;
  readonly close: () => void;
}

/** The head of a panel beside a view. It has the focus while the panel is open, and then returns it. */
export function PanelHead({ title, id, close }: PanelHeadProps): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    heading.current?.focus({ preventScroll: true });
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  return (
    <header class="panel-head">
      <div>
        <h2 id="panel-title" ref={heading} tabIndex={-1}>
          {title}
        </h2>
        {title !== id && <p class="mono quiet">{id}</p>}
      </div>
      <button
        type="button"
        class="button is-quiet is-icon"
        aria-label="Close the panel"
        title="Close (Esc)"
        onClick={close}
      >
        <Icon name="close" />
      </button>
    </header>
  );
}
