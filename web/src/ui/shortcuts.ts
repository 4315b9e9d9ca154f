import { useEffect } from 'preact/hooks';

/** What the help overlay lists. */
export const SHORTCUTS: readonly (readonly [keys: readonly string[], what: string])[] = [
  [['?'], 'This help'],
  [['n'], 'New tasks'],
  [['b'], 'All batches'],
  [['f'], 'Features'],
  [['m'], 'Machine'],
  [['w'], 'Workers'],
  [['1', '2', '3'], 'Executions, graph, timeline'],
  [['/'], 'Search'],
  [['t'], 'Light, dark or as the system'],
  [['Esc'], 'Close the panel or a dialog'],
  [['↑', '↓', 'Home', 'End'], 'Move in the table'],
  [['→', '←'], 'Open and close a group in the table'],
  [['Space'], 'Open and close a group in the graph'],
  [['Enter'], 'Open what is marked'],
  [['←', '→', '↑', '↓'], 'Move the mark in graph and timeline'],
  [['Shift', '←→↑↓'], 'Move the view of graph and timeline; Shift and drag does, too'],
  [['Drag'], 'Move the graph; zoom into the timeline'],
  [['e'], 'The next one that failed, in the graph'],
  [['+', '−', '0'], 'Zoom in, out, show all'],
];

/** Runs what a key stands for, unless somebody types or a dialog is open. */
export function useShortcuts(keys: Readonly<Record<string, () => void>>): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return;
      const run = keys[event.key];
      if (run === undefined) return;
      event.preventDefault();
      run();
    };
    window.addEventListener('keydown', listen);
    return () => window.removeEventListener('keydown', listen);
  });
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');
}
