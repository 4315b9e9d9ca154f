import { render } from 'preact';
import { begin } from './api/session.ts';
import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/batches.css';
import './styles/menu.css';
import './styles/table.css';
import './styles/panel.css';
import './styles/drawing.css';
import './styles/machine.css';
import './styles/dialog.css';
import './styles/print.css';
import { followAddress } from './ui/route.ts';
import { App } from './views/app.tsx';

await begin();
followAddress();
render(<App />, document.getElementById('app')!);
