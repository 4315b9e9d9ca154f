import type { JSX, RefObject } from 'preact';
import { numberText } from '../../../../src/cli/output/numbers.ts';
import type { Status } from '../../api/wire.ts';
import type { Filter } from '../../model/order.ts';
import { STATUS_TEXT, STATUSES } from '../../model/status.ts';
import { state } from '../../store/store.ts';
import { Icon, StatusIcon } from '../../ui/icons.tsx';

/** Search, function and statuses; the statuses carry their counts. */
export function FilterBar(props: {
  filter: Filter;
  change: (change: Partial<Filter>) => void;
  functions: readonly string[];
  shown: string;
  searchRef: RefObject<HTMLInputElement | null>;
}): JSX.Element {
  const { filter, change, functions, shown, searchRef } = props;
  const toggle = (status: Status) => {
    const statuses = new Set(filter.statuses);
    if (!statuses.delete(status)) statuses.add(status);
    change({ statuses });
  };
  const counts = state.value.batches.get(state.value.open?.name ?? '')?.counts;
  return (
    <div class="filter-bar">
      <div class="search">
        <Icon name="search" />
        <input
          ref={searchRef}
          class="input"
          type="search"
          placeholder="Search"
          aria-label="Search id, name, function, error and arguments"
          title="Search id, name, function, error and arguments (/)"
          value={filter.search}
          onInput={(event) => change({ search: event.currentTarget.value })}
        />
      </div>
      {functions.length > 1 && (
        <select
          class="input"
          aria-label="Function"
          value={filter.function}
          onChange={(event) => change({ function: event.currentTarget.value })}
        >
          <option value="">All functions</option>
          {functions.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      )}
      <div class="chips" role="group" aria-label="Statuses">
        {STATUSES.map((status) => {
          const count = counts?.[status] ?? 0;
          const isOn = filter.statuses.has(status);
          if (count === 0 && !isOn) return null;
          return (
            <button
              key={status}
              type="button"
              class={`chip is-${status}`}
              aria-pressed={isOn}
              onClick={() => toggle(status)}
            >
              <StatusIcon status={status} />
              {STATUS_TEXT[status]} <b>{numberText(count)}</b>
            </button>
          );
        })}
      </div>
      <span class="spring" />
      <span class="quiet shown-count" role="status">
        {shown}
      </span>
    </div>
  );
}
