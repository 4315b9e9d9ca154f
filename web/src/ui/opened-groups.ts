import { useMemo } from 'preact/hooks';
import { listOf, listText } from '../model/route.ts';
import { route, setQuery } from './route.ts';

/** Which groups are open, in the table and in the graph. */
export interface OpenedGroups {
  readonly opened: ReadonlySet<string>;
  /** Opens a group, or closes it. */
  readonly toggle: (id: string) => void;
}

export function useOpenedGroups(): OpenedGroups {
  const { open } = route.value.query;
  return useMemo(() => {
    const opened: ReadonlySet<string> = new Set(listOf(open));
    const toggle = (id: string) => {
      const next = new Set(opened);
      if (!next.delete(id)) next.add(id);
      setQuery({ open: listText(next) });
    };
    return { opened, toggle };
  }, [open]);
}
