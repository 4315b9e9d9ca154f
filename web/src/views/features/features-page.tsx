import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Feature } from '../../api/wire.ts';
import { hashOf, type Query } from '../../model/route.ts';
import { Empty } from '../../ui/empty.tsx';
import { usePolled } from '../../ui/use-polled.ts';
import { BoardPage } from './board-page.tsx';

/** All features of the project, or the board of one. */
export function FeaturesPage({ query }: { query: Query }): JSX.Element {
  const { feature } = query;
  return feature === undefined ? (
    <FeatureList />
  ) : (
    <BoardPage key={feature} feature={feature} query={query} />
  );
}

function FeatureList(): JSX.Element {
  const [list, error] = usePolled<{ features: Feature[] }>('features');
  useEffect(() => {
    document.title = 'Features · Volley';
  }, []);
  return (
    <div class="page">
      <h1 class="page-title">Features</h1>
      {error !== undefined && (
        <p class="problem" role="alert">
          {error.text}
        </p>
      )}
      {list === undefined && error === undefined && <p class="quiet">Reading the features…</p>}
      {list?.features.length === 0 && (
        <Empty title="No features yet">
          <p>
            A feature is work for coding agents, in parts that can run at once. Describe one in a file:
            <code class="block">volley tasks create feature.yaml</code>
          </p>
        </Empty>
      )}
      {list !== undefined && list.features.length > 0 && (
        <ul class="features">
          {list.features.map((feature) => (
            <FeatureCard key={feature.feature} feature={feature} />
          ))}
        </ul>
      )}
    </div>
  );
}

function FeatureCard({ feature: one }: { feature: Feature }): JSX.Element {
  const { feature, name, status, running, subtask_count: total, completed_count: done } = one;
  const state = running ? 'running' : status;
  return (
    <li class="feature-card">
      <a class="feature-name" href={hashOf({ page: 'features', query: { feature } })}>
        {name}
      </a>
      <span class={`tag is-${FEATURE_TAG[state]}`}>{FEATURE_TEXT[state]}</span>
      <span class="quiet mono feature-id">{feature}</span>
      <FeatureBar feature={feature} done={done} total={total} />
      <span class="quiet">
        {done} of {total} {total === 1 ? 'subtask' : 'subtasks'} completed
      </span>
    </li>
  );
}

export const FEATURE_TEXT = {
  running: 'Running',
  active: 'Active',
  completed: 'Completed',
  blocked: 'Blocked',
  archived: 'Archived',
} as const;

export const FEATURE_TAG = {
  running: 'running',
  active: 'idle',
  completed: 'done',
  blocked: 'failed',
  archived: 'idle',
} as const;

export function FeatureBar({
  feature,
  done,
  total,
}: {
  feature: string;
  done: number;
  total: number;
}): JSX.Element {
  const share = total === 0 ? 0 : done / total;
  return (
    <div
      class="bar is-small"
      role="progressbar"
      aria-label={`Completed subtasks of ${feature}`}
      aria-valuemin={0}
      aria-valuemax={total}
      aria-valuenow={done}
    >
      {done > 0 && <div class="bar-part is-completed" style={{ width: `${share * 100}%` }} />}
    </div>
  );
}
