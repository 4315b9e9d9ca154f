import type { JSX } from 'preact';
import { may, session } from '../api/session.ts';
import { dialog } from '../ui/dialogs.ts';
import { Notices } from '../ui/notices.tsx';
import { go, route } from '../ui/route.ts';
import { useShortcuts } from '../ui/shortcuts.ts';
import { switchTheme } from '../ui/theme.ts';
import { AddDialog } from './add/add-dialog.tsx';
import { BatchPage } from './batch/batch-page.tsx';
import { BatchesPage } from './batches/batches-page.tsx';
import { FeaturesPage } from './features/features-page.tsx';
import { Header } from './header.tsx';
import { HelpDialog } from './help.tsx';
import { MachinePage } from './machine/machine-page.tsx';
import { SignIn } from './sign-in.tsx';
import { WorkersPage } from './workers/workers-page.tsx';

export function App(): JSX.Element {
  const { value: here } = route;
  const add = () => {
    if (may('run')) dialog.value = { kind: 'add', ...(here.page === 'batch' && { batch: here.batch }) };
  };
  useShortcuts({
    '?': () => {
      dialog.value = { kind: 'help' };
    },
    n: add,
    b: () => go({ page: 'batches', query: {} }),
    f: () => go({ page: 'features', query: {} }),
    m: () => go({ page: 'machine', query: {} }),
    w: () => go({ page: 'workers', query: {} }),
    t: switchTheme,
  });
  if (session.value.state === 'out') return <SignIn why={session.value.why} />;
  const { value: open } = dialog;
  // A dialog reports a little later that it has closed. By then another one may be open.
  const close = () => {
    if (dialog.value === open) dialog.value = undefined;
  };
  return (
    <>
      <button type="button" class="button skip-link" onClick={focusMain}>
        Skip to content
      </button>
      <Header add={add} />
      <main id="main" tabIndex={-1}>
        {here.page === 'batches' && <BatchesPage query={here.query} add={add} />}
        {here.page === 'features' && <FeaturesPage query={here.query} />}
        {here.page === 'machine' && <MachinePage query={here.query} />}
        {here.page === 'workers' && <WorkersPage />}
        {here.page === 'batch' && <BatchPage key={here.batch} route={here} add={add} />}
      </main>
      <Notices />
      {open?.kind === 'help' && <HelpDialog close={close} />}
      {open?.kind === 'add' && <AddDialog batch={open.batch} close={close} />}
    </>
  );
}

/** A button and no link, for the fragment of the address is the view. */
function focusMain(): void {
  document.getElementById('main')?.focus();
}
