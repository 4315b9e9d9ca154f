import { useMemo } from 'preact/hooks';
import type { Shown } from '../model/status.ts';
import { isDark } from '../ui/theme.ts';

/** Colours of the style sheet for what is drawn on a canvas. */
export interface Palette {
  readonly status: Readonly<Record<Shown, string>>;
  readonly text: string;
  readonly quiet: string;
  readonly line: string;
  readonly surface: string;
  readonly raised: string;
  readonly accent: string;
  readonly font: string;
}

export function usePalette(): Palette {
  const dark = isDark.value;
  return useMemo(readPalette, [dark]);
}

function readPalette(): Palette {
  // A property with a color for light and one for dark resolves only where it is used.
  const probe = document.body.appendChild(document.createElement('span'));
  const style = getComputedStyle(probe);
  const read = (name: string) => {
    probe.style.color = `var(${name})`;
    return style.color;
  };
  const palette = {
    status: {
      open: read('--open'),
      running: read('--running'),
      retrying: read('--retrying'),
      completed: read('--completed'),
      failed: read('--failed'),
      cancelled: read('--cancelled'),
      skipped: read('--skipped'),
    },
    text: read('--text'),
    quiet: read('--quiet'),
    line: read('--line-strong'),
    surface: read('--surface'),
    raised: read('--raised'),
    accent: read('--accent'),
    font: style.getPropertyValue('--sans').trim(),
  };
  probe.remove();
  return palette;
}
