import { useMemo, useState } from 'preact/hooks';

/** Which groups are open, in the table and in the graph. */
export interface OpenedGroups {
  readonly opened: ReadonlySet<string>;
  /** Opens a group, or closes it. */
  readonly toggle: (id: string) => void;
}

export function useOpenedGroups(): OpenedGroups {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  return useMemo(() => {
    const toggle = (id: string) =>
      setOpened((before) => {
        const next = new Set(before);
        if (!next.delete(id)) next.add(id);
        return next;
      });
    return { opened, toggle };
  }, [opened]);
}
