import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from './icons.tsx';

/** The browser's own modal dialog: it keeps the focus, closes with Escape, and gives the focus back. */
export function Dialog(props: {
  title: string;
  close: () => void;
  children: ComponentChildren;
  isWide?: boolean;
}): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current!;
    dialog.showModal();
    // A form is opened to be filled in, not to be closed.
    dialog.querySelector<HTMLElement>('form select, form input, form textarea')?.focus();
    return () => dialog.close();
  }, []);
  return (
    <dialog
      ref={ref}
      class={props.isWide ? 'dialog is-wide' : 'dialog'}
      aria-labelledby="dialog-title"
      onClose={props.close}
    >
      <header class="dialog-head">
        <h2 id="dialog-title">{props.title}</h2>
        <button type="button" class="button is-quiet is-icon" aria-label="Close" onClick={props.close}>
          <Icon name="close" />
        </button>
      </header>
      {props.children}
    </dialog>
  );
}
