import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from './icons.tsx';

/** A button with a list below it. It closes when something is chosen, with Escape, and when one goes elsewhere. */
export function Menu({ text, children }: { text: string; children: ComponentChildren }): JSX.Element {
  const ref = useRef<HTMLDetailsElement>(null);
  const close = () => {
    ref.current!.open = false;
  };
  useEffect(() => {
    const leave = (event: Event) => {
      if (event.target instanceof Node && !ref.current!.contains(event.target)) close();
    };
    document.addEventListener('pointerdown', leave);
    document.addEventListener('focusin', leave);
    return () => {
      document.removeEventListener('pointerdown', leave);
      document.removeEventListener('focusin', leave);
    };
  }, []);
  const closeOnEscape = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !ref.current!.open) return;
    event.preventDefault();
    close();
    ref.current!.querySelector('summary')?.focus();
  };
  return (
    <details class="menu" ref={ref} onKeyDown={closeOnEscape}>
      <summary class="button">
        {text} <Icon name="down" />
      </summary>
      <div class="menu-list" onClick={close}>
        {children}
      </div>
    </details>
  );
}
