import type { JSX } from 'preact';
import { Dialog } from '../ui/dialog.tsx';
import { SHORTCUTS } from '../ui/shortcuts.ts';

export function HelpDialog({ close }: { close: () => void }): JSX.Element {
  return (
    <Dialog title="Keyboard" close={close}>
      <dl class="shortcuts">
        {SHORTCUTS.map(([keys, what]) => (
          <div key={what}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
